-- Events of one kind, pipeline, error class and owner that wait to be told of in one notice.
CREATE TABLE "notice_groups" (
    "kind" TEXT NOT NULL,
    "pipeline" TEXT NOT NULL,
    "class" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "waiting" INTEGER NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "told_at" TIMESTAMPTZ(3),

    CONSTRAINT "notice_groups_pkey" PRIMARY KEY ("kind", "pipeline", "class", "owner")
);
