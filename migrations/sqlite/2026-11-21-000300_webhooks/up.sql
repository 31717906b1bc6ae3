-- Who is told of events. A deleted one stays as long as its history does, without its secret.
CREATE TABLE webhooks (
    id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id      INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    url              TEXT    NOT NULL,
    description      TEXT    NOT NULL,
    events           TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    active           INTEGER NOT NULL,
    secret           BLOB    NOT NULL,
    secret_hint      TEXT    NOT NULL,
    failure_count    INTEGER NOT NULL,
    last_status      TEXT,
    last_delivery_at INTEGER,
    created          INTEGER NOT NULL,
    updated          INTEGER NOT NULL,
    deleted          INTEGER
) STRICT;

CREATE INDEX webhooks_business ON webhooks (business_id) WHERE deleted IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted) WHERE deleted IS NOT NULL;

-- When the next delivery of a subscription is due, in milliseconds; null if none waits that may be sent. It has a table of
-- its own so that whoever records an event never waits for whoever changes the subscription.
CREATE TABLE webhook_queues (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    webhook_id  INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    active      INTEGER NOT NULL,
    next_due    INTEGER,
    PRIMARY KEY (business_id, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_queues_due ON webhook_queues (next_due) WHERE next_due IS NOT NULL;
CREATE INDEX webhook_queues_webhook ON webhook_queues (webhook_id);

-- Deliveries. One that is pending either waits, and is due at some time, or is leased until some time; one that is neither
-- has ended. An update that may still take in another of the same record holds the place that its settling names.
-- due, lease, settle_by and first_attempt are in milliseconds.
CREATE TABLE webhook_deliveries (
    id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id     INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    webhook_id      INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    topic           TEXT    NOT NULL,
    event_id        TEXT    NOT NULL,
    sequence        INTEGER,
    status          INTEGER NOT NULL,
    settling        TEXT,
    settle_by       INTEGER,
    due             INTEGER,
    lease           INTEGER,
    attempts        INTEGER NOT NULL,
    first_attempt   INTEGER,
    next_attempt_at INTEGER,
    response_code   INTEGER,
    response_ms     INTEGER,
    response_body   TEXT,
    error           TEXT,
    created         INTEGER NOT NULL,
    pinged          INTEGER,
    delivered_at    INTEGER
) STRICT;

CREATE INDEX webhook_deliveries_history ON webhook_deliveries (business_id, webhook_id);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (business_id, webhook_id, status);
CREATE INDEX webhook_deliveries_topic ON webhook_deliveries (business_id, webhook_id, topic);
CREATE INDEX webhook_deliveries_topic_status ON webhook_deliveries (business_id, webhook_id, topic, status);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (business_id, webhook_id, due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_settling ON webhook_deliveries (business_id, settling) WHERE settling IS NOT NULL;
CREATE INDEX webhook_deliveries_lease ON webhook_deliveries (lease) WHERE lease IS NOT NULL;
CREATE INDEX webhook_deliveries_created ON webhook_deliveries (created);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhooks', 'webhooks_business', '1000 10'),
    ('webhooks', 'webhooks_deleted', '10 1'),
    ('webhook_queues', 'webhook_queues', '1000 10 1'),
    ('webhook_queues', 'webhook_queues_due', '100 2'),
    ('webhook_queues', 'webhook_queues_webhook', '1000 1'),
    ('webhook_deliveries', 'webhook_deliveries_history', '1000000 100000 10000'),
    ('webhook_deliveries', 'webhook_deliveries_status', '1000000 100000 10000 5000'),
    ('webhook_deliveries', 'webhook_deliveries_topic', '1000000 100000 10000 3000'),
    ('webhook_deliveries', 'webhook_deliveries_topic_status', '1000000 100000 10000 3000 1500'),
    ('webhook_deliveries', 'webhook_deliveries_due', '10000 1000 100 1'),
    ('webhook_deliveries', 'webhook_deliveries_settling', '1000 100 1'),
    ('webhook_deliveries', 'webhook_deliveries_lease', '1000 5'),
    ('webhook_deliveries', 'webhook_deliveries_created', '1000000 10');

ANALYZE sqlite_schema;
