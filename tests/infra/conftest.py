"""The CDK runs in Node, which must be found before any test module imports it."""

from infra.node import provide_node

provide_node()
