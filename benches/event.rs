//! Octets per second of the event layer, beside serde_json, which skips the
//! same texts and reads nothing of them.

use std::hint::black_box;

use chunkscope::event::{EventItem, Framer, Kind};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::de::IgnoredAny;
use serde_json::json;

/// Watch events of some 2.4 KB, as an API server writes them.
fn watch(indented: bool) -> Vec<u8> {
    let mut body = Vec::new();
    for index in 0..500 {
        let name = format!("web-7d4b9c6f5-{index:05}");
        let applied = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {}, "name": name},
            "spec": {"containers": [{"image": "nginx:1.27", "name": "web"}]}});
        let fields = json!({"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}, "f:tier": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}},
                "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}}});
        let event = json!({"type": "MODIFIED", "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()},
                "creationTimestamp": "2026-11-30T12:00:00Z",
                "generateName": "web-7d4b9c6f5-",
                "labels": {"app": "web", "pod-template-hash": "7d4b9c6f5", "tier": "front"},
                "managedFields": [
                    {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": "kubectl",
                        "operation": "Update", "time": "2026-11-30T12:00:00Z"},
                ],
                "name": name,
                "namespace": "default",
                "resourceVersion": (70_000 + index).to_string(),
                "uid": "0f0c3c9e-6b1e-4b1e-9f4e-7d7c8f1d2a3b",
            },
            "spec": {
                "containers": [{
                    "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent", "name": "web",
                    "resources": {"limits": {"cpu": "100m", "memory": "128Mi"}},
                    "terminationMessagePath": "/dev/termination-log",
                    "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                        "name": "kube-api-access-x", "readOnly": true}],
                }],
                "nodeName": "node-1",
                "priority": 0,
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "volumes": [{"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
                ]}}],
            },
            "status": {
                "conditions": [{"lastProbeTime": null, "lastTransitionTime": "2026-11-30T12:00:03Z",
                    "status": "True", "type": "Ready"}],
                "hostIP": "10.0.0.1", "phase": "Running", "podIP": "10.244.0.17", "qosClass": "BestEffort",
            },
        }});
        let text = if indented { serde_json::to_vec_pretty(&event) } else { serde_json::to_vec(&event) };
        body.extend(text.into_iter().flatten());
        body.push(b'\n');
    }
    body
}

/// Short events of an event stream.
fn sse() -> Vec<u8> {
    let event = |index| {
        format!("id: {index}\nevent: tick\ndata: {{\"tick\":{index},\"of\":\"a clock in the hall\"}}\n\n")
    };
    (0..10_000).map(event).collect::<String>().into_bytes()
}

/// How many events are in a body that comes in pieces.
fn events(kind: Kind, body: &[u8], size: usize) -> usize {
    let mut framer = Framer::new(kind);
    let mut offset = 0;
    let mut events = 0;
    for mut piece in body.chunks(size) {
        while let Some(item) = framer.read(&mut piece, &mut offset) {
            events += usize::from(matches!(item, EventItem::Event { .. }));
        }
    }
    events
}

fn event(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event");
    for (name, body) in [("compact", watch(false)), ("indented", watch(true))] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("serde_json ignores/{name}"), |bencher| {
            let skip =
                |body| serde_json::Deserializer::from_slice(body).into_iter::<IgnoredAny>().flatten().count();
            bencher.iter(|| skip(black_box(&body)));
        });
        for (size, pieces) in [(usize::MAX, "whole"), (1400, "1400"), (64, "64"), (1, "1")] {
            group.bench_function(format!("watch/{name}/{pieces}"), |bencher| {
                bencher.iter(|| events(Kind::Watch, black_box(&body), size));
            });
        }
        group.bench_function(format!("json/{name}"), |bencher| {
            bencher.iter(|| events(Kind::Json, black_box(&body), usize::MAX));
        });
    }
    let body = watch(false);
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("ndjson", |bencher| {
        bencher.iter(|| events(Kind::Ndjson, black_box(&body), usize::MAX))
    });
    let body = sse();
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("sse", |bencher| bencher.iter(|| events(Kind::Sse, black_box(&body), usize::MAX)));
    group.finish();
}

criterion_group!(benches, event);
criterion_main!(benches);
