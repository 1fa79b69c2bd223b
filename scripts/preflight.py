"""What must be true of this machine, checked before anything is downloaded. Standard library only, any Python 3.8+.

    python3 scripts/preflight.py            says what is wrong and what to do, exit 1; or what will be fetched, exit 0

`make` runs it before it sets up. Everything is checked before the first complaint is printed.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from glob import glob
from pathlib import Path

PYTHON_FROM, PYTHON_BELOW = (3, 11), (3, 14)
JAVA_FROM, JAVA_TO = 17, 21
JAVA_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/usr/java/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
)
CHECKOUT = Path(__file__).resolve().parent.parent
# Download and disk, in MB, measured on Linux x86-64 with Python 3.11.
PACKAGES = ("Python packages (PySpark alone 430 MB)", 800, 1900)
JARS = ("Kafka, the schema registry, Spark's Kafka connector (jars)", 165, 300)
DATA_MB = 500
PORTS = {
    "FLAGFALL_SERVICES_KAFKA_PORT": 19092,
    "FLAGFALL_SERVICES_KAFKA_CONTROLLER_PORT": 19093,
    "FLAGFALL_SERVICES_REGISTRY_PORT": 18080,
}


def main():
    wanted = [part for part, needed in ((PACKAGES, not installed()), (JARS, not jars_cached())) if needed]
    problems = [p for p in (python_problem(), java_problem(), disk_problem(wanted)) if p]
    for problem in problems:
        print("preflight: " + problem, file=sys.stderr)
    if problems:
        return 1
    for note in port_notes():
        print("note      " + note)
    for name, download_mb, disk_mb in wanted:
        print(f"fetching  {name}: {download_mb} MB to download, {disk_mb} MB on disk")
    return 0


def python_problem():
    if PYTHON_FROM <= sys.version_info[:2] < PYTHON_BELOW:
        return None
    return (
        "{} is Python {}.{}; 3.11, 3.12 or 3.13 is needed. Install one (Debian, Ubuntu: apt install python3.11 "
        "python3.11-venv) and run: make PYTHON=python3.11 ...".format(sys.executable, *sys.version_info[:2])
    )


def java_problem():
    seen = []
    for executable in java_candidates():
        version = java_version(executable)
        if version is not None and JAVA_FROM <= version <= JAVA_TO:
            return None
        seen.append(f"{executable} " + ("does not run" if version is None else f"is Java {version}"))
    return (
        "no Java 17 to 21 ({}). Install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew "
        "install openjdk@21), or set JAVA_HOME to it".format(
            "; ".join(seen) or "looked at JAVA_HOME, PATH, usual places"
        )
    )


def java_candidates():
    found = [os.path.join(os.environ["JAVA_HOME"], "bin", "java")] if os.environ.get("JAVA_HOME") else []
    found += [path for path in [shutil.which("java")] if path]
    for place in JAVA_PLACES:
        found += sorted(glob(place))
    return list(dict.fromkeys(found))


def java_version(executable):
    try:
        told = subprocess.run(
            [executable, "-version"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', told.stdout.decode(errors="replace"))
    return int(match.group(1)) if match and told.returncode == 0 else None


def disk_problem(wanted):
    needed_mb = sum(disk_mb for _, _, disk_mb in wanted) + DATA_MB
    free_mb = shutil.disk_usage(str(CHECKOUT)).free // 1_000_000
    if free_mb >= needed_mb:
        return None
    return f"{CHECKOUT} has {free_mb} MB free, {needed_mb} MB are needed (packages, jars, data); make room"


def port_notes():
    """`make up` needs these ports; `make demo` finds others by itself. So they are no reason to stop here."""
    for variable, default in PORTS.items():
        text = os.environ.get(variable, str(default))
        if not text.isdigit():
            yield f"{variable}={text} is not a port"
        elif not port_is_free(int(text)):
            yield f"port {text}, which `make up` needs, is in use; choose another with {variable}"


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def installed():
    return (CHECKOUT / ".venv" / "bin" / "pyspark").exists()


def jars_cached():
    cache = os.environ.get("FLAGFALL_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "flagfall"
    )
    return all(os.path.isdir(os.path.join(cache, "jars", name)) for name in ("kafka", "registry", "spark"))


if __name__ == "__main__":
    sys.exit(main())
