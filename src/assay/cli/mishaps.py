"""What the command says and returns when it cannot go on: one sentence each, and an exit code of its own."""

from __future__ import annotations

import errno
import platform
import sys
import traceback
from collections.abc import Sequence

from assay import __version__
from assay.cli.arguments import INTERNAL, USAGE
from assay.cli.output import print_to_stderr
from assay.cli.streams import discard_stdout
from assay.text import named, printable

NAMES = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENOENT)
"""Errors of the system that say that a path of the user's cannot be used."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EBADF)
"""Errors of the system that say that nothing more can be written."""


def report_system_error(error: OSError, arguments: Sequence[str]) -> int:
    """One sentence for a path that cannot be used or a disk that is full; returns the exit code."""
    why = error.strerror or str(error)
    if error.filename is not None and error.errno in NAMES + FULL:
        print_to_stderr([f"'{error.filename}' cannot be used ({why}); check the path and the disk"])
        return USAGE
    if error.errno in FULL:
        discard_stdout()
        print_to_stderr([f"the output cannot be written ({why}); make room, then run the same command again"])
        return USAGE
    return report_internal_error(error, arguments)


def report_internal_error(error: Exception, arguments: Sequence[str]) -> int:
    """One sentence for an exception that should not have happened, with the file of its traceback; the exit code."""
    text = "".join(traceback.format_exception(error))
    where = _write(f"{_circumstances(arguments)}\n{text}")
    if where:
        print_to_stderr(
            [f"this is an error of Assay itself ({named(error)}); please report it, with the file '{where}'"]
        )
    else:
        sys.stderr.write(printable(text))
        print_to_stderr([f"this is an error of Assay itself ({named(error)}); please report it, with the lines above"])
    return INTERNAL


def _circumstances(arguments: Sequence[str]) -> str:
    machine = f"Python {platform.python_version()}, {platform.platform()}"
    return f"assay {__version__}, {machine}\nassay {' '.join(map(ascii, arguments))}\n"


def _write(text: str) -> str:
    """Write the text to a new file that no other user can read; its path, or nothing if that is not possible."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile("w", prefix="assay-error-", suffix=".txt", delete=False, encoding="utf-8",
                                         errors="backslashreplace") as file:  # fmt: skip
            file.write(text)
            return file.name
    except OSError:
        return ""
