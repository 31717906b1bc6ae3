-- Wildcard searches, as for leads.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX vehicle_facts_search ON vehicle_facts USING gin (
            make gin_trgm_ops, model gin_trgm_ops, generation gin_trgm_ops, derivative gin_trgm_ops,
            body gin_trgm_ops, colour gin_trgm_ops, fuel gin_trgm_ops, transmission gin_trgm_ops
        ) WITH (gin_pending_list_limit = 1024);
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'pg_trgm may not be created here; wildcard searches have no index';
END $$;
