"""Faults of a whole cluster: Patroni and etcd decide, and clients go on by themselves."""
