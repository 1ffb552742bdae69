"""Install the built wheel as a stranger would, far from this checkout, and run its demo.

Builds the wheel, checks that every file of the package is in it, creates a fresh virtual environment in a temporary
directory, installs `olvido[local]` with pip at the versions of requirements.lock, and runs `olvido demo` from an
empty directory. Exits non-zero at the first thing that does not hold.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A demo takes under 90 s on two cores; a slow machine gets three times that, a hang does not get for ever.
DEMO_SECONDS = 300


def build_wheel(directory: Path) -> Path:
    """Build the wheel of this checkout into `directory`."""
    build = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if build.returncode != 0:
        sys.exit(f"The wheel does not build.\n{build.stdout}{build.stderr}")
    (wheel,) = directory.glob("*.whl")
    return wheel


def missing_from(wheel: Path) -> list[str]:
    """Files of src/olvido that the wheel does not carry."""
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "olvido").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        return sorted(ours - set(archive.namelist()))


def pins() -> str:
    """The versions of requirements.lock without hashes, which pip would also ask of the wheel just built."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^[^\s#].*?(?=\s*\\?$)", lock, flags=re.MULTILINE)) + "\n"


def stranger_environment() -> dict[str, str]:
    """This environment without what would let the checkout or a developer's settings help."""
    ours = ("PYTHON", "VIRTUAL_ENV", "OLVIDO", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "NO_COLOR": "1"}


def smoke(directory: Path) -> None:
    """Build, install and run inside `directory`, which is empty and temporary."""
    wheel = build_wheel(directory / "dist")
    missing = missing_from(wheel)
    if missing:
        sys.exit("The wheel lacks files of the package:\n  " + "\n  ".join(missing))

    environment = directory / "venv"
    venv.create(environment, with_pip=True)
    constraints = directory / "constraints.txt"
    constraints.write_text(pins(), encoding="utf-8")
    empty = directory / "empty"
    empty.mkdir()
    clean = stranger_environment()
    # Not compiled: the demo imports a tenth of what is installed.
    install = [str(environment / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", "--no-compile"]
    subprocess.run(
        [*install, "--constraint", constraints, f"olvido[local] @ {wheel.as_uri()}"],
        cwd=empty,
        env=clean,
        check=True,
    )
    demo = subprocess.run(
        [environment / "bin" / "olvido", "demo"],
        cwd=empty,
        env=clean,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=DEMO_SECONDS,
    )
    if demo.returncode != 0 or not demo.stdout.strip():
        sys.stderr.buffer.write(demo.stdout)
        sys.exit(f"`olvido demo` from the wheel ended with exit code {demo.returncode}.")


def main() -> None:
    """Run the smoke test and say how long it took."""
    print("wheel: build, install in a clean environment, run its demo", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="olvido-smoke-") as directory:
        smoke(Path(directory))
    print(f"wheel: its demo ran; {time.monotonic() - start:.0f} s in all")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        sys.exit(f"wheel: `{Path(failure.cmd[0]).name} …` failed with exit code {failure.returncode}.")
    except subprocess.TimeoutExpired:
        sys.exit(f"wheel: `olvido demo` did not end within {DEMO_SECONDS} s.")
