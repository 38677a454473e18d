-- A half-open circuit is probed by no more jobs at once than it may be.
SELECT count(*) AS violations
FROM platform_circuit circuit
WHERE circuit.state = 'half_open' AND circuit_probing(circuit) > circuit.probes
