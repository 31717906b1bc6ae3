"""Prepares the OpenAPI document for the generator, which makes one name of `created` and `created[]`: the bounds stay. XML is sent as
bytes, so the body as a text is left out.

    python prepare.py openapi.json prepared.json
"""

import json
import sys
from pathlib import Path

source, target = map(Path, sys.argv[1:])
document = json.loads(source.read_text(encoding="utf-8"))
for item in document["paths"].values():
    for operation in item.values():
        parameters = operation.get("parameters", [])
        ranges = {parameter.get("name") for parameter in parameters}
        operation["parameters"] = [one for one in parameters if f"{one.get('name')}[]" not in ranges]
        operation.get("requestBody", {}).get("content", {}).pop("application/xml", None)
target.write_text(json.dumps(document), encoding="utf-8")
