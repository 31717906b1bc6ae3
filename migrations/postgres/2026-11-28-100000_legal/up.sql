-- The company behind a business, as JSON; NULL where nothing is declared. A column of its own, which servers of the previous
-- version pass over: they refuse members of settings that they do not know.
ALTER TABLE businesses ADD COLUMN legal TEXT;
