"""The task graphs of Böhm and Beránek 2020 (Table I), each a workload with parameters."""
