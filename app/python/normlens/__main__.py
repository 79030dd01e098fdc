"""The command normlens and `python -m normlens`: become the program that was installed with this package."""

import os
import sys

from normlens.engine.program import environment_for, find_engine, installed


def main() -> None:
    program = str(installed("normlens") or os.path.join(os.path.dirname(find_engine()), "normlens"))
    os.execve(program, [program, *sys.argv[1:]], environment_for(program))


if __name__ == "__main__":
    main()
