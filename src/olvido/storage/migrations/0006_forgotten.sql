-- What an import asks the audit log: which lives and records of a company were forgotten, and which lives took an export
-- in. Few rows are of that kind, and without an index each question would read all that a company ever wrote.
CREATE INDEX audit_log_forgotten ON olvido.audit_log (tenant_id, subject_key)
    WHERE action IN ('forget', 'reopened', 'imported');
