"""A tour of every area with the client that is generated from docs/openapi.json: it lists, pages through, creates, changes,
handles refusals by their codes, and verifies a webhook. It works on the business that FORECOURT_TOKEN belongs to and removes
what it made, so run it against a demo:

    FORECOURT_URL=http://127.0.0.1:8080 FORECOURT_TOKEN=... python tour.py

For the webhook it listens on this machine; the server must have been started with
FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS=true, since deliveries otherwise go to public addresses alone.
"""

import hashlib
import hmac
import io
import json
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol, TypeVar

import httpx

from forecourt_client import AuthenticatedClient
from forecourt_client.api.blogs import create_blog, delete_blog, list_blogs, read_blog, update_blog
from forecourt_client.api.contacts import create_contact, delete_contact, list_contacts, read_contact, update_contact
from forecourt_client.api.leads import (
    create_lead,
    create_lead_from_adf,
    create_lead_note,
    delete_lead,
    list_lead_notes,
    list_leads,
    read_lead,
    update_lead,
)
from forecourt_client.api.listings import list_listing_feeds, list_listings, read_listing
from forecourt_client.api.meta import read_meta
from forecourt_client.api.reference import list_lead_types, list_tags, walk_vehicle_taxonomy
from forecourt_client.api.reviews import create_review, delete_review, list_reviews, read_review, update_review
from forecourt_client.api.vehicles import (
    create_vehicle,
    delete_vehicle,
    list_vehicles,
    read_vehicle,
    set_vehicle_channels,
    update_vehicle,
)
from forecourt_client.api.webhooks import (
    create_webhook,
    delete_webhook,
    list_webhooks,
    ping_webhook,
    read_webhook,
    update_webhook,
)
from forecourt_client.models import (
    ArticleChanges,
    ContactBody,
    Error,
    ErrorEnvelope,
    Lead,
    LeadBody,
    LeadNoteBody,
    NewArticle,
    NewContactBody,
    NewVehicleBody,
    PageMeta,
    ReviewChanges,
    Vehicle,
    VehicleChangesBody,
    VehicleChannelsBody,
    WebhookBody,
    WebhookChanges,
)
from forecourt_client.types import File, Unset

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

api = AuthenticatedClient(
    base_url=os.environ["FORECOURT_URL"],
    token=os.environ["FORECOURT_TOKEN"],
    # Strict handling turns a misspelt name into a refusal that names the nearest known one.
    headers={"Prefer": "handling=strict"},
    timeout=httpx.Timeout(30),
)


class Refused(Exception):
    """A request that was refused. Branch on `code`: it is stable, the message is for people."""

    def __init__(self, refusal: Error) -> None:
        super().__init__(f"{refusal.code}: {refusal.message} ({refusal.details.help_})")
        self.refusal = refusal
        self.code = refusal.code


def said(answer: T | ErrorEnvelope | None) -> T:
    """What an answer says; raises Refused."""
    if isinstance(answer, ErrorEnvelope):
        raise Refused(answer.error)
    assert answer is not None, "the answer has a status that the document does not know"
    return answer


def refusal(answer: object) -> Error:
    """The code and the details of a refusal that had to come."""
    assert isinstance(answer, ErrorEnvelope), f"the request was expected to be refused: {answer}"
    return answer.error


class Page(Protocol[T_co]):
    """What every list answers."""

    @property
    def data(self) -> Sequence[T_co]: ...
    @property
    def meta(self) -> PageMeta: ...


class Identified(Protocol):
    @property
    def id(self) -> int: ...


def walk(page: Callable[[str], Page[T]]) -> Iterator[T]:
    """The records of all pages. An empty cursor begins; the last page's `next_cursor` is null."""
    cursor: str | None | Unset = ""
    while isinstance(cursor, str):
        answer = page(cursor)
        yield from answer.data
        cursor = answer.meta.pagination.next_cursor


def ids(page: Callable[[str], Page[Identified]]) -> set[int]:
    """Pages through a list, at most a hundred records of it, and checks that none comes twice."""
    seen: set[int] = set()
    for record in walk(page):
        assert record.id not in seen, f"record {record.id} is on two pages"
        seen.add(record.id)
        if len(seen) == 100:
            break
    return seen


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


def at(record: Versioned) -> str:
    """The value of `If-Match` for a record as it was read."""
    return f'"{record.version}"'


def change(read: Callable[[], Versioned], write: Callable[[str], T]) -> T:
    """Changes a record as it is now: who changes it in between, as the rating of leads does, makes this read it again."""
    for _ in range(4):
        try:
            return write(at(read()))
        except Refused as refused:
            if refused.code != "precondition_failed":
                raise
    return write(at(read()))


def once() -> str:
    """An idempotency key: a retry with it is answered with the first answer, and makes nothing twice."""
    return str(uuid.uuid4())


def leads() -> None:
    body = LeadBody.from_dict(
        {
            "name": "Tess Tour",
            "email": "tess@example.com",
            "type": ["test_drive"],
            "data": {"message": "Is it sold?"},
        }
    )
    key = once()
    lead = said(create_lead.sync(client=api, body=body, idempotency_key=key)).data
    again = said(create_lead.sync(client=api, body=body, idempotency_key=key)).data
    assert again.id == lead.id, "the key made the second request a retry"

    assert lead.id in ids(lambda cursor: said(list_leads.sync(client=api, status="new", per_page=5, cursor=cursor)))
    # A range has two bounds, and an empty one is open.
    recent = said(list_leads.sync(client=api, created=[lead.created, ""], name="Tess Tour"))
    assert lead.id in [one.id for one in recent.data]

    def read() -> Lead:
        found = said(read_lead.sync(lead.id, client=api)).data
        assert isinstance(found, Lead)
        return found

    message = LeadBody.from_dict({"data": {"message": "Is it still there?"}})
    changed = change(read, lambda version: said(update_lead.sync(lead.id, client=api, body=message, if_match=version)))
    assert changed.data.version > lead.version
    late = refusal(update_lead.sync(lead.id, client=api, body=LeadBody(name="Late"), if_match=at(lead)))
    assert late.code == "precondition_failed"
    assert late.details["version"] > lead.version

    said(create_lead_note.sync(lead.id, client=api, body=LeadNoteBody(note="Called back.")))
    assert [note.note for note in said(list_lead_notes.sync(lead.id, client=api)).data] == ["Called back."]

    adf = (
        b'<?adf version="1.0"?><adf><prospect><customer><contact><name part="full">Al Form</name></contact></customer>'
        b"</prospect></adf>"
    )
    imported = said(create_lead_from_adf.sync(client=api, body=File(payload=io.BytesIO(adf)))).data
    assert imported.name == "Al Form"

    for one in (lead, imported):
        said(delete_lead.sync(one.id, client=api))
    assert refusal(read_lead.sync(lead.id, client=api)).code == "lead_not_found"


def contacts() -> None:
    body = NewContactBody.from_dict(
        {
            "name": "Cora Contact",
            "email": f"cora-{uuid.uuid4()}@example.com",
            "address": {"city": "Leeds", "country": "GB"},
        }
    )
    contact = said(create_contact.sync(client=api, body=body, idempotency_key=once())).data
    assert contact.id in ids(lambda cursor: said(list_contacts.sync(client=api, per_page=5, cursor=cursor)))

    company = ContactBody(company="Cora & Co")
    changed = said(update_contact.sync(contact.id, client=api, body=company, if_match=at(contact))).data
    assert changed.data.company == "Cora & Co"
    assert changed.data.address.city == "Leeds", "what a change omits stays"

    nameless = refusal(create_contact.sync(client=api, body=NewContactBody(name="")))
    assert (nameless.code, nameless.details["field"]) == ("validation_failed", "name")

    said(delete_contact.sync(contact.id, client=api))
    assert refusal(read_contact.sync(contact.id, client=api)).code == "contact_not_found"


def vehicles_and_listings() -> None:
    """A vehicle, its changes, and the advert that it becomes."""
    data = {
        "vehicle": {"type": "Car", "make": "Ford", "model": "Focus", "mileage": 41_250},
        "history": {"year": 2019},
        "stock": {"price_website": 9_995},
    }
    body = NewVehicleBody.from_dict({"data": data})
    vehicle = said(create_vehicle.sync(client=api, body=body, idempotency_key=once())).data
    assert vehicle.id in ids(
        lambda cursor: said(list_vehicles.sync(client=api, make="Ford", price=[9_000, 10_000], per_page=5, cursor=cursor))
    )

    read = read_vehicle.sync_detailed(vehicle.id, client=api)
    shown = said(read.parsed).data
    assert isinstance(shown, Vehicle)
    unchanged = read_vehicle.sync_detailed(vehicle.id, client=api, if_none_match=read.headers["ETag"])
    assert unchanged.status_code == 304
    price = VehicleChangesBody.from_dict({"data": {"stock": {"price_website": 9_495}}})
    changed = said(update_vehicle.sync(vehicle.id, client=api, body=price, if_match=at(shown))).data
    assert changed.data.stock.price_website == "9495.00"
    unknown = refusal(list_vehicles.sync(client=api, fields="id,data.stock.price_web"))
    assert unknown.code == "validation_failed"

    said(set_vehicle_channels.sync(vehicle.id, client=api, body=VehicleChannelsBody(channels=["website"])))
    assert vehicle.id in ids(
        lambda cursor: said(list_listings.sync(client=api, make="Ford", price=[9_495, 9_495], per_page=5, cursor=cursor))
    )
    assert said(read_listing.sync(vehicle.id, client=api)).data.data.vehicle.make == "Ford"
    assert said(list_listing_feeds.sync(client=api)).data

    said(delete_vehicle.sync(vehicle.id, client=api))
    assert refusal(read_listing.sync(vehicle.id, client=api)).code == "listing_not_found"
    assert refusal(read_vehicle.sync(vehicle.id, client=api)).code == "vehicle_not_found"


def blogs() -> None:
    body = NewArticle(title=f"On tour {uuid.uuid4()}", content="<p>Ten garages in ten days.</p>")
    article = said(create_blog.sync(client=api, body=body, idempotency_key=once())).data
    assert article.id in ids(lambda cursor: said(list_blogs.sync(client=api, per_page=2, cursor=cursor)))
    category = ArticleChanges(category="Travel")
    assert said(update_blog.sync(article.id, client=api, body=category, if_match=at(article))).data.category == "Travel"
    untitled = refusal(create_blog.sync(client=api, body=NewArticle(title="")))
    assert untitled.details["field"] == "title"
    said(delete_blog.sync(article.id, client=api))
    assert refusal(read_blog.sync(article.id, client=api)).code == "blog_not_found"


def reviews() -> None:
    body = ReviewChanges(rating=4.5, name="Rae View", review="Friendly, and no queue.")
    review = said(create_review.sync(client=api, body=body, idempotency_key=once())).data
    assert review.id in ids(lambda cursor: said(list_reviews.sync(client=api, per_page=2, cursor=cursor)))
    approved = ReviewChanges(status="approved")
    assert said(update_review.sync(review.id, client=api, body=approved, if_match=at(review))).data.status == "approved"
    six = refusal(update_review.sync(review.id, client=api, body=ReviewChanges(rating=6)))
    assert six.details["field"] == "rating"
    said(delete_review.sync(review.id, client=api))
    assert refusal(read_review.sync(review.id, client=api)).code == "review_not_found"


def reference() -> None:
    """The lists that other areas refer to. They are short, and have no pages."""
    assert "test_drive" in [kind.id for kind in said(list_lead_types.sync(client=api)).data]
    assert said(list_tags.sync(client=api, resource="lead")).data.resource == "lead"
    taxonomy = said(walk_vehicle_taxonomy.sync(client=api, type_="Car")).data
    assert isinstance(taxonomy.makes, list) and "Ford" in taxonomy.makes
    assert said(read_meta.sync(client=api)).data.endpoints


def is_genuine(header: str, body: bytes, secret: str) -> bool:
    """Whether the bytes of a delivery were signed with `secret`, not long ago."""
    parts = dict(part.strip().split("=", 1) for part in header.split(",") if "=" in part)
    t, v1 = parts.get("t", ""), parts.get("v1", "")
    expected = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    # The time is believed only once it is known to be signed.
    return hmac.compare_digest(expected.encode(), v1.encode()) and abs(time.time() - int(t)) <= 300


def webhooks() -> None:
    deliveries: queue.Queue[tuple[str, bytes]] = queue.Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            deliveries.put((self.headers.get("X-Service-Signature", ""), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{receiver.server_port}/hook"
        body = WebhookBody(url=url, events=["lead.created"])
        webhook = said(create_webhook.sync(client=api, body=body, idempotency_key=once())).data
        assert webhook.id in ids(lambda cursor: said(list_webhooks.sync(client=api, per_page=1, cursor=cursor)))
        label = WebhookChanges(description="The tour's")
        said(update_webhook.sync(webhook.id, client=api, body=label, if_match=at(webhook)))

        said(ping_webhook.sync(webhook.id, client=api))
        signature, payload = deliveries.get(timeout=30)
        assert is_genuine(signature, payload, webhook.secret)
        assert not is_genuine(signature, payload + b" ", webhook.secret), "altered"
        assert not is_genuine(signature, payload, "whsec_other"), "signed by someone else"
        assert json.loads(payload)["data"]["webhook"] == webhook.id

        wrong = refusal(create_webhook.sync(client=api, body=WebhookBody(url="nowhere", events=["lead.created"])))
        assert wrong.code == "validation_failed"
        said(delete_webhook.sync(webhook.id, client=api))
        assert refusal(read_webhook.sync(webhook.id, client=api)).code == "webhook_not_found"
    finally:
        receiver.shutdown()


if __name__ == "__main__":
    for part in (leads, contacts, vehicles_and_listings, blogs, reviews, reference, webhooks):
        part()
        print(f"{part.__name__}: seen")
