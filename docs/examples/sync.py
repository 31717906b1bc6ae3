#!/usr/bin/env python3
"""Keeps a copy of a dealership's listings in a SQLite file. docs/syndication.md explains it.

    FORECOURT_TOKEN=fck_... python3 sync.py https://api.dealer.example copy.db            # follows the changes for ever
    FORECOURT_TOKEN=fck_... python3 sync.py https://api.dealer.example copy.db --once     # up to now, then exits
    FORECOURT_TOKEN=fck_... python3 sync.py https://api.dealer.example copy.db --delta    # by delta and manifest, then exits
    python3 sync.py https://api.dealer.example copy.db --dump                             # prints the copy, by id
"""
import argparse
import http.client
import json
import os
import sqlite3
import time
import urllib.error
import urllib.parse
import urllib.request

TABLES = """
CREATE TABLE IF NOT EXISTS listings (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, updated INTEGER NOT NULL,
    json TEXT NOT NULL, unconfirmed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS state (sequence INTEGER NOT NULL, manifest TEXT);
INSERT INTO state SELECT 0, NULL WHERE NOT EXISTS (SELECT 1 FROM state);
CREATE TABLE IF NOT EXISTS epoch (number INTEGER NOT NULL);
"""
ATTEMPTS = 10  # of a request that is not answered, or with 429 or 503


def get(server, path, headers=None, **query):
    """The answer's JSON and its ETag; None in place of the JSON if it is 304. Raises HTTPError for other refusals."""
    url = f"{server}{path}?{urllib.parse.urlencode(query)}"
    headers = {"Authorization": f"Bearer {os.environ['FORECOURT_TOKEN']}", **(headers or {})}
    for attempt in range(1, ATTEMPTS + 1):
        pause = min(60, 2**attempt)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
                return json.load(answer), answer.headers["ETag"]
        except urllib.error.HTTPError as refusal:
            if refusal.code == 304:
                return None, refusal.headers["ETag"]
            if refusal.code not in (429, 503) or attempt == ATTEMPTS:
                raise
            seconds = refusal.headers["Retry-After"] or ""
            pause = int(seconds) if seconds.isdigit() else pause
        except (OSError, http.client.HTTPException, json.JSONDecodeError):  # away, or the answer broke off
            if attempt == ATTEMPTS:
                raise
        time.sleep(pause)


def store(copy, listing):
    copy.execute("INSERT OR REPLACE INTO listings (id, hash, updated, json) VALUES (?, ?, ?, ?)",
                 (listing["id"], listing["hash"], listing["updated"], json.dumps(listing)))


def remove(copy, vehicle):
    copy.execute("DELETE FROM listings WHERE id = ?", (vehicle,))


def follow(server, copy, wait):
    """Applies one page of changes, and its number with it: both or neither. Returns whether there is more."""
    (after,) = copy.execute("SELECT sequence FROM state").fetchone()
    try:
        page, _ = get(server, "/2.0/listings/changes", after=after, per_page=500, wait=wait)
    except urllib.error.HTTPError as refusal:
        if refusal.code != 410:  # listing_changes_expired
            raise
        with copy:
            copy.execute("UPDATE state SET sequence = 0")
        return True
    meta = page["meta"]
    (known,) = copy.execute("SELECT max(number) FROM epoch").fetchone()
    if known != meta["epoch"]:  # The server was restored: its numbers are given a second time.
        with copy:
            copy.execute("DELETE FROM epoch")
            copy.execute("INSERT INTO epoch VALUES (?)", (meta["epoch"],))
            copy.execute("UPDATE state SET sequence = 0")
        if after > 0 and (known or meta["epoch"]):
            return True
    with copy:
        if after == 0:  # A new beginning: what it does not bring is not listed any more.
            copy.execute("UPDATE listings SET unconfirmed = 1")
        for entry in page["data"]:
            if entry["type"] == "upsert":
                store(copy, entry["listing"])
            else:
                remove(copy, entry["id"])
        if not meta["more"]:
            copy.execute("DELETE FROM listings WHERE unconfirmed")
        copy.execute("UPDATE state SET sequence = ?", (meta["last_sequence"],))
    return meta["more"]


def delta(server, copy):
    """Fetches what has changed, then lets the manifest say what is missing, different or gone."""
    (newest,) = copy.execute("SELECT max(updated) FROM listings").fetchone()
    query = {"per_page": 500, "cursor": ""}
    if newest is not None:
        query["updated_since"] = newest - 5  # A change may become visible a little after its time stamp.
    while query["cursor"] is not None:
        page, _ = get(server, "/2.0/listings", **query)
        with copy:
            for listing in page["data"]:
                store(copy, listing)
        query["cursor"] = page["meta"]["pagination"]["next_cursor"]
    (known,) = copy.execute("SELECT manifest FROM state").fetchone()
    manifest, tag = get(server, "/2.0/listings/manifest", {"If-None-Match": known} if known else None)
    if manifest is None:
        return
    live = {entry["id"]: entry["hash"] for entry in manifest["data"]}
    stored = dict(copy.execute("SELECT id, hash FROM listings"))
    with copy:
        for vehicle in stored.keys() - live.keys():
            remove(copy, vehicle)
    for vehicle in (vehicle for vehicle in live if stored.get(vehicle) != live[vehicle]):
        try:
            answer, _ = get(server, f"/2.0/listings/{vehicle}")
        except urllib.error.HTTPError as refusal:
            if refusal.code != 404:
                raise
            answer = None  # gone since the manifest was made
        with copy:
            store(copy, answer["data"]) if answer else remove(copy, vehicle)
    with copy:  # Only now: until the copy agrees with this manifest, the next run has to see it again.
        copy.execute("UPDATE state SET manifest = ?", (tag,))


def main():
    parser = argparse.ArgumentParser(description="Keeps a copy of a dealership's listings in a SQLite file.")
    parser.add_argument("server", help="such as https://api.dealer.example")
    parser.add_argument("database", help="the file of the copy")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--once", action="store_true", help="exit when the copy is up to date")
    mode.add_argument("--delta", action="store_true", help="by delta and manifest instead of changes, then exit")
    mode.add_argument("--dump", action="store_true", help="print the copy as lines of JSON, by id")
    options = parser.parse_args()
    copy = sqlite3.connect(options.database)
    copy.executescript(TABLES)
    server = options.server.rstrip("/")
    if options.dump:
        for (listing,) in copy.execute("SELECT json FROM listings ORDER BY id"):
            print(listing)
    elif options.delta:
        delta(server, copy)
    else:
        while follow(server, copy, 0 if options.once else 30) or not options.once:
            pass


if __name__ == "__main__":
    main()
