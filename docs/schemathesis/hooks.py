"""What Schemathesis is to pass over: what no schema can say of a request, and answers that `fields` narrows."""

import re
import uuid

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import JsonSchemaError, RejectedPositiveData

# `*`, or entity tags with commas between, as the document has it.
ENTITY_TAGS = re.compile(r'(\*|(W/)?"[^\s"]*"(\s*,\s*(W/)?"[^\s"]*")*)')

# Faults that depend on what is stored or on the clock, or on rules that are no regular expression.
UNDECLARABLE = re.compile(
    r"""
      names\ |no\ such|none\ of\ the\ options|no\ status\ of|of\ another|has\ already|cannot\ be   # what the business has
    | has\ no\ email|needs\ an\ email|webhook\ lacks|`scopes`|for\ a\ public\ document
    | must\ be\ a\ date|must\ be\ a\ year|in\ the\ future|today\ or\ later|below\ the\ offer
    | telephone\ number|email\ address|must\ be\ a\ url|ISO\ country\ code|no\ slug
    | base64|must\ be\ a\ JPEG|must\ be\ a\ PDF|an\ MP4|is\ damaged|none\ of\ its\ kind       # what a file is
    | two\ decimals|is\ too\ large           # `multipleOf` fails for many amounts, since they are binary
    | must\ not\ be\ empty|must\ have\ a\ line\ or\ a\ zip|of\ ADF|UTF-8|XML  # what a text says
    | needs\ resource|must\ be\ one\ value\ or\ an\ array        # parameters that require or exclude each other
    """,
    re.VERBOSE,
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Leaves out of valid requests what makes them refused for what they are not about."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    headers, query = case.headers or {}, case.query or {}
    # The tester sends some that do not match the pattern.
    if not ENTITY_TAGS.fullmatch(str(headers.get("If-Match", "*"))):
        del headers["If-Match"]
    # A key that was used for another request is refused.
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = uuid.uuid4().hex
    # A cursor is what a list gave.
    query.pop("cursor", None)
    # Names of members that there are cannot be invented.
    if is_strict(case):
        query.pop("fields", None)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if isinstance(failure, JsonSchemaError):
        return "fields" not in (case.query or {})
    if isinstance(failure, AcceptedNegativeData):
        # An empty filter counts as left out.
        return "" not in (case.query or {}).values()
    if not isinstance(failure, RejectedPositiveData):
        return True
    error = response.json()["error"]
    # The tester writes control characters into the heads of a form's parts.
    if case.media_type == "multipart/form-data" and error["code"] == "json_invalid":
        return False
    errors = error.get("details", {}).get("errors", [])
    return not errors or not all(is_undeclarable(case, **fault) for fault in errors)


def is_undeclarable(case, field, message):
    # `extension` is put behind a name.
    if field == "filename":
        return True
    # Some parameters are required by others; with strict handling, additional members are refused.
    is_so = (case.method == "GET" and "is required" in message) or (is_strict(case) and "is unknown" in message)
    return is_so or UNDECLARABLE.search(message) is not None


def is_strict(case):
    return "handling=strict" in str((case.headers or {}).get("Prefer", ""))
