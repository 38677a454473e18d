-- Edge 1 without a reservation.
{{create_job_ctes}}
SELECT * FROM moved
