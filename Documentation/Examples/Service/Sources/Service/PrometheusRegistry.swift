import CoreMetrics
import Synchronization

/// A small exporter of metrics, so that this program needs no further package.
///
/// Use swift-prometheus or swift-otel in a service.
final class PrometheusRegistry: MetricsFactory {
    private let sums = Mutex<[String: Double]>([:])

    /// The counters, and the count and the sum of what was recorded, in the text format of Prometheus.
    var text: String {
        sums.withLock { sums in
            sums.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
        }
    }

    fileprivate func add(_ value: Double, to series: String) {
        sums.withLock { $0[series, default: 0] += value }
    }

    fileprivate func set(_ value: Double, of series: String) {
        sums.withLock { $0[series] = value }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Metric(label, dimensions, registry: self)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Metric(label, dimensions, registry: self)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        Metric(label, dimensions, registry: self)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        Metric(label, dimensions, registry: self)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
}

private final class Metric: CounterHandler, RecorderHandler, TimerHandler, MeterHandler {
    private let registry: PrometheusRegistry
    private let name: String
    private let labels: String

    init(_ label: String, _ dimensions: [(String, String)], registry: PrometheusRegistry) {
        self.registry = registry
        name = String(label.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        let pairs = dimensions.map { name, value in
            let safe = String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
            return "\(safe)=\"\(value.filter { $0 != "\"" && $0 != "\\" && $0 != "\n" })\""
        }
        labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    func increment(by amount: Int64) {
        registry.add(Double(amount), to: "\(name)_total\(labels)")
    }

    func reset() {
        registry.set(0, of: "\(name)_total\(labels)")
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        registry.add(1, to: "\(name)_count\(labels)")
        registry.add(value, to: "\(name)_sum\(labels)")
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1_000_000_000)
    }

    func set(_ value: Int64) {
        set(Double(value))
    }

    func set(_ value: Double) {
        registry.set(value, of: "\(name)\(labels)")
    }

    func increment(by amount: Double) {
        registry.add(amount, to: "\(name)\(labels)")
    }

    func decrement(by amount: Double) {
        registry.add(-amount, to: "\(name)\(labels)")
    }
}
