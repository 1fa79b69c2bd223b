"""Workers with names in the group: killed and back within the session, back after it, and one name twice."""

from __future__ import annotations

from tests.drills.drill import DrillBroken
from tests.drills.world.field import Field
from tests.drills.world.fleet import has_ended
from tests.support.machine.ports import free_ports
from tests.support.machine.workers import Worker

WITHIN, AFTER, TWICE = "within the session", "after the session", "one name twice"


def run(field: Field) -> None:
    ports = dict(zip(("first", "second"), free_ports(2), strict=True))
    members = {name: _start(field, name, port) for name, port in ports.items()}
    field.wait(field.fleet.own_all, "the workers share all tasks")
    field.load.start()
    ways = [WITHIN, AFTER, TWICE] * field.size.rounds
    for way in field.rng.sample(ways, field.size.rounds):
        field.let_rides_pass(1, 3)
        name = field.rng.choice(list(members))
        field.note(way, member=name)
        if way == TWICE:
            _is_refused(field, name)
        else:
            field.fleet.kill(members[name])
            if way == AFTER:
                others = [worker for other, worker in members.items() if other != name]
                field.wait(lambda: field.fleet.own_all(others), "the other worker has all tasks")  # noqa: B023
            members[name] = _start(field, name, ports[name])
        field.wait(field.fleet.own_all, "the workers share all tasks")


def _start(field: Field, name: str, port: int) -> Worker:
    """A name and an address belong together: a member that comes back has both."""
    return field.fleet.start(worker_group_instance_id=name, port=port)


def _is_refused(field: Field, name: str) -> None:
    """The group takes the newcomer for the member; it finds that it is not, and gives the place back."""
    newcomer = _start(field, name, *free_ports(1))
    field.wait(lambda: has_ended(newcomer), "the newcomer has ended")
    told, code = newcomer.log.read_text(), newcomer.process.returncode
    field.note("refused", worker=newcomer.log.stem, code=code)
    field.fleet.forget(newcomer)
    if code != 1 or f"group instance '{name}' is the worker at" not in told or "Traceback" in told:
        raise DrillBroken(f"the newcomer ended with {code} and these words: {told[-1_000:]}")
