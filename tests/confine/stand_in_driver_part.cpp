// A library that lies beside the stand-in driver and is loaded from there.
extern "C" int standInDriverPart() { return 0; }
