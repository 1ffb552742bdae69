"""The connectors of a policy: those that host code made, and those that the policy describes.

What a policy describes has its address and its key from the environment, never from the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta

from olvido.adapters.copies.directory import DirectoryFiles
from olvido.adapters.copies.http import HttpCopy
from olvido.adapters.copies.valkey import ValkeySessions
from olvido.domain.policy import Policy
from olvido.domain.policy_document import (
    BuiltInConnector,
    ConnectorSettings,
    CopyKind,
    DirectoryConnector,
    HttpConnector,
    RegisteredConnector,
)
from olvido.errors import InvalidInput
from olvido.ports import Connector

BuiltIn = ValkeySessions | HttpCopy | DirectoryFiles

CACHE_LINES = """\
  - name: session-cache
    kind: cache
    holder: platform team
    retention: {retention}
    connector: {{type: valkey, url_env: OLVIDO_CACHE_URL}}
"""
"""What a policy needs to have where sessions are cached."""

_PARTS = ("by_record", "find", "erase", "verify")


def unset_variables(policy: Policy, environ: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Variables that connectors of a policy take what they need from, and that are not set, by copy."""
    found = {copy.name: _unset(copy.connector, environ) for copy in policy.copies}
    return {name: unset for name, unset in found.items() if unset}


def connectors_of(
    policy: Policy, given: Mapping[str, Connector], environ: Mapping[str, str], stack: AsyncExitStack
) -> dict[str, Connector]:
    """All connectors, by the name under which the register of copies knows them. stack: closes what is made here.

    given: those that host code made, by name. Raises InvalidInput for one that no copy of the policy names, which would
    never be asked, or that lacks a part of a connector, and as `built_in` does.
    """
    named = {copy.connector.name for copy in policy.copies if isinstance(copy.connector, RegisteredConnector)}
    for name in given.keys() - named:
        raise InvalidInput(
            f"The connector {name!r} is not named by any copy of policy {policy.name}, so it would never be asked. "
            f"Give the copy the line `connector: {{type: registered, name: {name}}}`."
        )
    for name, connector in given.items():
        missing = [part for part in _PARTS if not hasattr(connector, part)]
        if missing:
            raise InvalidInput(
                f"The connector {name!r} has no {' and no '.join(missing)}. See olvido.connectors.Connector for what a "
                "connector has."
            )
    connectors = dict(given)
    for copy in policy.copies:
        settings = copy.connector
        if settings is None or isinstance(settings, RegisteredConnector):
            continue
        try:
            made = built_in(settings, environ)
        except InvalidInput as error:
            raise InvalidInput(f"The copy {copy.name} of policy {policy.name} cannot be erased so: {error}") from None
        if made is not None and copy.connected is not None:
            connectors[copy.connected] = made
        if isinstance(made, ValkeySessions):
            stack.push_async_callback(made.aclose)
    return connectors


def require_declared_cache(policy: Policy) -> None:
    """Raise InvalidInput unless the policy declares a cache with a connector: a cache is a copy like any other."""
    if not any(copy.kind is CopyKind.CACHE and copy.connector is not None for copy in policy.copies):
        hours = -(-policy.sessions.retention // timedelta(hours=1))
        raise InvalidInput(
            f"Policy {policy.name} declares no cache that a forget could erase and look at. Add under copies:\n"
            + CACHE_LINES.format(retention=f"{hours}h")
        )


def built_in(settings: BuiltInConnector, environ: Mapping[str, str]) -> BuiltIn | None:
    """The connector of these settings; None if a variable that it needs is not set, as where no worker runs.

    Raises InvalidInput, which names the variables whose values cannot be.
    """
    if _unset(settings, environ):
        return None
    variables = _variables(settings)
    values = [environ[variable] for variable in variables]
    try:
        match settings:
            case DirectoryConnector():
                return DirectoryFiles(values[0], settings.template)
            case HttpConnector():
                return HttpCopy(values[0], key=values[1])
            case _:
                return ValkeySessions(values[0])
    except InvalidInput as error:
        raise InvalidInput(f"{' and '.join(variables)} cannot be used: {error}") from None


def _variables(settings: ConnectorSettings | None) -> list[str]:
    return [] if settings is None else [value for name, value in settings if name.endswith("_env")]


def _unset(settings: ConnectorSettings | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(variable for variable in _variables(settings) if not environ.get(variable))
