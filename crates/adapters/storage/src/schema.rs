//! The tables, once for both engines. A table whose columns follow the fields and filters of an area is in [`crate::models`],
//! beside the rows that are written to it.

pub(crate) use crate::models::contacts::contacts;
pub(crate) use crate::models::leads::leads;
pub(crate) use crate::models::vehicles::vehicle_facts;

diesel::table! {
    vehicle_customers (business_id, contact, vehicle) {
        business_id -> BigInt,
        contact -> BigInt,
        vehicle -> BigInt,
    }
}

diesel::table! {
    /// Facts of the database about itself: see [`crate::models::MetaRow`].
    forecourt_meta (key) {
        key -> Text,
        value -> Text,
    }
}

diesel::table! {
    /// The servers that run, and those that ended without removing themselves.
    servers (id) {
        id -> BigInt,
        host -> Text,
        pid -> BigInt,
        version -> Text,
        started -> BigInt,
        seen -> BigInt,
        clock_offset -> Nullable<BigInt>,
        report -> Text,
    }
}

diesel::table! {
    /// The tenants.
    businesses (id) {
        id -> BigInt,
        tag -> Text,
        name -> Text,
        email -> Text,
        country -> Text,
        website -> Text,
        verified -> Bool,
        state -> Text,
        plan -> Text,
        api_access -> Bool,
        settings -> Text,
        catalogue -> Text,
        legal -> Nullable<Text>,
        created -> BigInt,
        updated -> BigInt,
        deleted -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// The counters of a business, by kind: see [`crate::models::Counter`].
    counters (business_id, kind) {
        business_id -> BigInt,
        kind -> Text,
        records -> BigInt,
        writes -> BigInt,
        number -> BigInt,
        stamp -> BigInt,
        unordered -> Bool,
    }
}

diesel::table! {
    /// The keys, with or without a business.
    api_keys (id) {
        id -> Text,
        secret_hash -> Binary,
        business_id -> Nullable<BigInt>,
        scopes -> Text,
        created -> BigInt,
        expires -> Nullable<BigInt>,
        revoked -> Nullable<BigInt>,
        addresses -> Nullable<Text>,
        last_used -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// Answers that are stored for retries.
    idempotency_keys (business_id, key) {
        business_id -> BigInt,
        key -> Text,
        fingerprint -> Binary,
        created -> BigInt,
        status -> Nullable<Integer>,
        body -> Nullable<Binary>,
        contact -> Nullable<BigInt>,
        kind -> Nullable<Integer>,
        record -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// The log of events.
    events (business_id, sequence) {
        business_id -> BigInt,
        sequence -> BigInt,
        id -> Text,
        name -> Text,
        record -> BigInt,
        data -> Text,
        created -> BigInt,
    }
}

diesel::table! {
    /// Mails that wait to be sent.
    mails (id) {
        id -> BigInt,
        business_id -> BigInt,
        recipient -> Text,
        subject -> Text,
        text -> Text,
        attempts -> Integer,
        due -> BigInt,
        message_id -> Nullable<Text>,
        in_reply_to -> Nullable<Text>,
        reply_to -> Nullable<Text>,
        claimed -> Bool,
        queued -> Nullable<BigInt>,
        lead_id -> Nullable<BigInt>,
        attachments -> Nullable<Text>,
        contact_id -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// The number of mails that each business has sent in the UTC day of its latest one.
    mail_quotas (business_id) {
        business_id -> BigInt,
        day -> BigInt,
        mails -> BigInt,
    }
}

diesel::table! {
    /// The vehicles that a lead concerns.
    lead_vehicles (business_id, vehicle_id, lead_id) {
        business_id -> BigInt,
        vehicle_id -> BigInt,
        lead_id -> BigInt,
        created -> BigInt,
    }
}

diesel::table! {
    /// Messages between the senders of enquiries and the business.
    lead_messages (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        lead_id -> BigInt,
        created -> BigInt,
        direction -> Text,
        channel -> Text,
        user_id -> Nullable<BigInt>,
        subject -> Text,
        body -> Text,
    }
}

diesel::table! {
    /// Notes on leads.
    lead_notes (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        lead_id -> BigInt,
        created -> BigInt,
        user_id -> Nullable<BigInt>,
        note -> Text,
    }
}

diesel::table! {
    /// The mails that have become leads, each once.
    lead_mails (business_id, message_id) {
        business_id -> BigInt,
        message_id -> Text,
    }
}

diesel::table! {
    /// The conversations that wait to be read: they are due, or leased, until the time given.
    lead_assessments (business_id, lead_id) {
        business_id -> BigInt,
        lead_id -> BigInt,
        due -> BigInt,
        attempts -> Integer,
    }
}

diesel::table! {
    /// Notes on contacts.
    contact_notes (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        contact_id -> BigInt,
        created -> BigInt,
        user_id -> Nullable<BigInt>,
        note -> Text,
    }
}

diesel::table! {
    /// Addresses and numbers that are left alone, as digests.
    contact_blocks (business_id, key) {
        business_id -> BigInt,
        key -> Binary,
    }
}

diesel::table! {
    /// Stock and other vehicles: see [`crate::models::VehicleRow`].
    vehicles (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        tag -> Text,
        contact -> Nullable<BigInt>,
        funder -> Nullable<BigInt>,
        supplier -> Nullable<BigInt>,
        created -> BigInt,
        updated -> BigInt,
        version -> BigInt,
        deleted -> Bool,
        preview -> Nullable<Text>,
        document -> Text,
    }
}

diesel::table! {
    /// The channels that a vehicle is published on.
    vehicle_channels (business_id, channel, vehicle_id) {
        business_id -> BigInt,
        channel -> Text,
        vehicle_id -> BigInt,
    }
}

diesel::table! {
    /// The tags that a vehicle carries.
    vehicle_tags (business_id, name, vehicle_id) {
        business_id -> BigInt,
        name -> Text,
        vehicle_id -> BigInt,
    }
}

diesel::table! {
    /// Subscriptions, the receivers of events: see [`crate::models::WebhookRow`].
    webhooks (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        url -> Text,
        description -> Text,
        events -> Text,
        scopes -> Text,
        active -> Bool,
        secret -> Binary,
        secret_hint -> Text,
        failure_count -> Integer,
        last_status -> Nullable<Text>,
        last_delivery_at -> Nullable<BigInt>,
        created -> BigInt,
        updated -> BigInt,
        version -> BigInt,
        deleted -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// The due time of the next delivery of each subscription.
    webhook_queues (business_id, webhook_id) {
        business_id -> BigInt,
        webhook_id -> BigInt,
        active -> Bool,
        next_due -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// Deliveries: see [`crate::models::DeliveryRow`].
    webhook_deliveries (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        webhook_id -> BigInt,
        topic -> Text,
        event_id -> Text,
        sequence -> Nullable<BigInt>,
        status -> Integer,
        settling -> Nullable<Text>,
        settle_by -> Nullable<BigInt>,
        due -> Nullable<BigInt>,
        lease -> Nullable<BigInt>,
        attempts -> Integer,
        first_attempt -> Nullable<BigInt>,
        next_attempt_at -> Nullable<BigInt>,
        response_code -> Nullable<Integer>,
        response_ms -> Nullable<Integer>,
        response_body -> Nullable<Text>,
        error -> Nullable<Text>,
        created -> BigInt,
        pinged -> Nullable<BigInt>,
        delivered_at -> Nullable<BigInt>,
        forget_answer -> Bool,
    }
}

diesel::table! {
    /// Deletions that are longer than one transaction.
    deletions (business_id, kind, record) {
        business_id -> BigInt,
        kind -> Integer,
        record -> BigInt,
        state -> Binary,
    }
}

diesel::table! {
    /// The records that named a contact when it was deleted.
    erasure_records (business_id, contact, kind, record) {
        business_id -> BigInt,
        contact -> BigInt,
        kind -> Integer,
        record -> BigInt,
        created -> BigInt,
    }
}

diesel::table! {
    /// People whose erasure is done, encrypted, for the servers that search their spools for them.
    erased_people (business_id, contact) {
        business_id -> BigInt,
        contact -> BigInt,
        until -> BigInt,
        keys -> Binary,
    }
}

diesel::table! {
    /// Files whose records are gone, and whose content is to be removed.
    file_removals (business_id, name) {
        business_id -> BigInt,
        name -> Text,
    }
}

diesel::allow_tables_to_appear_in_same_query!(api_keys, businesses);
diesel::allow_tables_to_appear_in_same_query!(webhooks, businesses);
diesel::allow_tables_to_appear_in_same_query!(webhooks, webhook_deliveries);
diesel::allow_tables_to_appear_in_same_query!(leads, lead_vehicles);
diesel::allow_tables_to_appear_in_same_query!(lead_assessments, businesses);
diesel::allow_tables_to_appear_in_same_query!(vehicles, vehicle_facts, vehicle_channels, vehicle_tags, lead_vehicles);
diesel::allow_tables_to_appear_in_same_query!(leads, deletions);
diesel::allow_tables_to_appear_in_same_query!(contacts, deletions);
diesel::allow_tables_to_appear_in_same_query!(leads, businesses);
