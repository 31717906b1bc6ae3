-- A vehicle that is deleted leaves the leads that it was associated with. Before there were vehicles there was nothing to
-- associate, so the table is empty.
ALTER TABLE lead_vehicles
    ADD FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE;

-- A lead's vehicles read newest first.
DROP INDEX lead_vehicles_lead;
CREATE INDEX lead_vehicles_lead ON lead_vehicles (business_id, lead_id, vehicle_id);
