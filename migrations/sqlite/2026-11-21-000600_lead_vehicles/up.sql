-- A vehicle that is deleted leaves the leads that it was associated with. Before there were vehicles there was nothing to
-- associate, so the table is empty and can be made anew.
DROP TABLE lead_vehicles;

CREATE TABLE lead_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    vehicle_id  INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle_id, lead_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A lead's vehicles read newest first.
CREATE INDEX lead_vehicles_lead ON lead_vehicles (lead_id, business_id, vehicle_id);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('lead_vehicles', 'lead_vehicles', '1000000 100000 20 1'),
    ('lead_vehicles', 'lead_vehicles_lead', '1000000 1 1 1');

ANALYZE sqlite_schema;
