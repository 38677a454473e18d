-- The checkpoint alone, as the fenced first statement of a larger transaction.
WITH {{checkpoint_ctes}}
SELECT * FROM moved
