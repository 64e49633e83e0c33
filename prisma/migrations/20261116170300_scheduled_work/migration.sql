-- CreateTable
CREATE TABLE "aggregates" (
    "name" TEXT NOT NULL,
    "figures" JSONB NOT NULL,
    "computed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "aggregates_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "discovered_packages" (
    "name" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "repo_url" TEXT,
    "outcome" TEXT NOT NULL,
    "found_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "discovered_packages_pkey" PRIMARY KEY ("name","version")
);

-- CreateTable
CREATE TABLE "skill_facts" (
    "skill_id" UUID NOT NULL,
    "stars" INTEGER,
    "downloads" INTEGER,
    "last_commit_at" TIMESTAMPTZ(3),
    "known_at" TIMESTAMPTZ(3),
    "tried_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "error" TEXT,

    CONSTRAINT "skill_facts_pkey" PRIMARY KEY ("skill_id")
);

-- CreateTable
CREATE TABLE "source_waits" (
    "source" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "source_waits_pkey" PRIMARY KEY ("source")
);

-- CreateIndex
CREATE INDEX "items_given_up" ON "items"("pipeline", "end_reason") WHERE (end_reason = ANY (ARRAY['POISON'::text, 'STUCK_EXHAUSTED'::text]));

-- CreateIndex
CREATE INDEX "discovered_packages_by_repo" ON "discovered_packages"("repo_url");

-- CreateIndex
CREATE INDEX "skill_facts_by_try" ON "skill_facts"("tried_at");

-- AddForeignKey
ALTER TABLE "skill_facts" ADD CONSTRAINT "skill_facts_skill_id_fkey" FOREIGN KEY ("skill_id") REFERENCES "skills"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
