-- Resource groups get a table of their own: until now a group was only a segment in the paths of its collections.

CREATE TABLE resource_groups (
    subscription_key TEXT    NOT NULL,
    name_key         TEXT    NOT NULL,
    -- The group as JSON.
    document         TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    PRIMARY KEY (subscription_key, name_key)
) STRICT, WITHOUT ROWID;

-- A group for every living collection, with the name and place of the first that was made in it.
INSERT INTO resource_groups (subscription_key, name_key, document, revision)
SELECT subscription_key,
       group_key,
       json_object(
           'path', json_object(
               'subscription', document ->> '$.path.subscription',
               'name', document ->> '$.path.group'
           ),
           'location', document ->> '$.location'
       ),
       (SELECT last FROM revisions) + row_number() OVER (ORDER BY id)
FROM collections
WHERE id IN (
    SELECT min(id) FROM collections WHERE deleted_at IS NULL GROUP BY subscription_key, group_key
);

UPDATE revisions SET last = last + (SELECT count(*) FROM resource_groups);
