-- CreateTable
CREATE TABLE "submissions" (
    "id" UUID NOT NULL,
    "repo_url" TEXT NOT NULL,
    "skill_name" TEXT NOT NULL,
    "skill_path" TEXT,
    "ref" TEXT,
    "email" TEXT,
    "is_vendor" BOOLEAN NOT NULL DEFAULT false,
    "commit" TEXT,
    "content_hash" TEXT,
    "tier1" JSONB,
    "tier2" JSONB,

    CONSTRAINT "submissions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "skill_contents" (
    "hash" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "fetched_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "skill_contents_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "skill_files" (
    "content_hash" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "bytes" BYTEA NOT NULL,
    "is_executable" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "skill_files_pkey" PRIMARY KEY ("content_hash","path")
);

-- CreateTable
CREATE TABLE "judgements" (
    "content_hash" TEXT NOT NULL,
    "judge" TEXT NOT NULL,
    "judgement" JSONB NOT NULL,
    "judged_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "judgements_pkey" PRIMARY KEY ("content_hash","judge")
);

-- CreateTable
CREATE TABLE "skills" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "repo_url" TEXT NOT NULL,
    "skill_name" TEXT NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "skills_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "skill_versions" (
    "skill_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "content_hash" TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "tier" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "score" INTEGER,
    "submission_id" UUID NOT NULL,
    "published_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "skill_versions_pkey" PRIMARY KEY ("skill_id","number")
);

-- CreateIndex
CREATE INDEX "submissions_by_content" ON "submissions"("content_hash");

-- CreateIndex
CREATE INDEX "submissions_by_commit" ON "submissions"("commit", "repo_url") WHERE (commit IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "skills_name_key" ON "skills"("name");

-- CreateIndex
CREATE UNIQUE INDEX "skills_repo_url_skill_name_key" ON "skills"("repo_url", "skill_name");

-- CreateIndex
CREATE UNIQUE INDEX "skill_versions_submission_id_key" ON "skill_versions"("submission_id");

-- CreateIndex
CREATE UNIQUE INDEX "skill_versions_skill_id_version_key" ON "skill_versions"("skill_id", "version");

-- AddForeignKey
ALTER TABLE "submissions" ADD CONSTRAINT "submissions_id_fkey" FOREIGN KEY ("id") REFERENCES "items"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "skill_files" ADD CONSTRAINT "skill_files_content_hash_fkey" FOREIGN KEY ("content_hash") REFERENCES "skill_contents"("hash") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "skill_versions" ADD CONSTRAINT "skill_versions_skill_id_fkey" FOREIGN KEY ("skill_id") REFERENCES "skills"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
