"""python -m proactivedp is the program proactivedp."""
import os
import subprocess
import sys

from proactivedp._program import Error, program


def main() -> int:
    try:
        command = [program(), *sys.argv[1:]]
    except Error as error:
        print(f"proactivedp: {error}", file=sys.stderr)
        return 1
    try:
        if os.name == "posix":
            os.execv(command[0], command)  # signals then reach the program itself
        return subprocess.call(command)
    except OSError as error:
        print(f"proactivedp: {command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
