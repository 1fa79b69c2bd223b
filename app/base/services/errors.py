"""Why a local service could not be had.

    ServicesError
    ├── JavaNotFound       no usable Java on this machine
    ├── JarError           an artefact could not be fetched, or is not the one that was pinned
    ├── PortInUse          another process listens where a service should
    └── StartFailed        a service ended or did not answer in time

Each message says what happened, where, and what to do; the command line prints it as it is.
"""

from __future__ import annotations


class ServicesError(Exception):
    """Base of all: the services are not as asked for."""


class JavaNotFound(ServicesError):
    """No Java 17 to 21 was found. Install one, or set JAVA_HOME."""


class JarError(ServicesError):
    """An artefact is missing and cannot be fetched, or its bytes differ from the committed sha256."""


class PortInUse(ServicesError):
    """A port is taken by a process that is not ours. End it, or set the variable that the message names."""


class StartFailed(ServicesError):
    """A service ended or stayed silent. The message ends with the last lines of its log."""
