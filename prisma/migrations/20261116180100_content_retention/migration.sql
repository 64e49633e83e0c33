-- Whether a content is published is asked before it is deleted.
CREATE INDEX "skill_versions_by_content" ON "skill_versions"("content_hash");
