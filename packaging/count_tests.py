"""Adds up the test cases of a CTest JUnit report and prints "N passed, N failed[, N skipped]".

What an entry of CTest prints (GoogleTest, Qt Test, unittest) says how many cases it ran. One that says nothing counts as
one case, and one that CTest calls failed counts at least one failure.
"""

import re
import sys
import xml.etree.ElementTree as ET


def total(pattern, text):
    return sum(int(n) for n in re.findall(pattern, text, re.MULTILINE))


def google_test(text):
    if not re.search(r"^\[==========\] .* ran\.", text, re.MULTILINE):
        return None
    return (
        total(r"^\[  PASSED  \] (\d+) test", text),
        total(r"^\[  FAILED  \] (\d+) test", text),
        total(r"^\[  SKIPPED \] (\d+) test", text),
    )


def qt_test(text):
    rows = re.findall(r"^Totals: (\d+) passed, (\d+) failed, (\d+) skipped", text, re.MULTILINE)
    if not rows:
        return None
    passed, failed, skipped = (sum(int(row[i]) for row in rows) for i in range(3))
    around = re.findall(r"^PASS +: .*::(?:init|cleanup)TestCase\(\)", text, re.MULTILINE)
    return passed - len(around), failed, skipped


def python_unittest(text):
    ran = re.search(r"^Ran (\d+) tests? in", text, re.MULTILINE)
    if not ran:
        return None
    failed = total(r"failures=(\d+)", text) + total(r"errors=(\d+)", text)
    skipped = total(r"skipped=(\d+)", text)
    return int(ran.group(1)) - failed - skipped, failed, skipped


def count(case):
    text = case.findtext("system-out") or ""
    state = case.get("status")
    if state == "disabled":
        return 0, 0, 1
    if state == "notrun":
        # A skip that was asked for and a program that is missing both read so.
        marked = any("SKIP" in (row.get("message") or "") for row in case.iter("skipped"))
        return (0, 0, 1) if marked else (0, 1, 0)
    counts = google_test(text) or qt_test(text) or python_unittest(text)
    failed = state == "fail" or case.find("failure") is not None
    if counts is None:
        return (0, 1, 0) if failed else (1, 0, 0)
    return (counts[0], max(counts[1], 1), counts[2]) if failed else counts


def tell_slowest(cases, most=10):
    timed = sorted(((float(case.get("time") or 0), case.get("name")) for case in cases), reverse=True)
    if len(timed) > most:
        print("the slowest:")
        for seconds, name in timed[:most]:
            print(f"{seconds:8.1f} s  {name}")


def main():
    try:
        cases = list(ET.parse(sys.argv[1]).getroot().iter("testcase"))
        rows = [count(case) for case in cases]
        tell_slowest(cases)
    except (OSError, ET.ParseError) as error:
        print(f"no test report: {error}", file=sys.stderr)
        rows = [(0, 1, 0)]
    passed, failed, skipped = (sum(row[i] for row in rows) for i in range(3))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
