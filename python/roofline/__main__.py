"""The `roofline` program: `roofline`, or `python -m roofline`."""

import signal
import sys

from roofline._roofline import main as _main


def main() -> None:
    """Runs the program with the arguments of this process, and exits as it does."""
    # Ctrl-C ends the program, which is not Python code and would not notice otherwise.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_main(["roofline", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
