#if Telemetry
import Metrics
import Synchronization

/// The handlers of a stack's metrics.
///
/// Creating a handler is slow, so each is created once. A handler occupies memory permanently, so their number is
/// limited.
final class TelemetryMeters: Sendable {
    private let factory: (any MetricsFactory)?
    private let maximumSeries: Int
    private let state = Mutex(State())

    init(factory: (any MetricsFactory)?, maximumSeries: Int) {
        self.factory = factory
        self.maximumSeries = maximumSeries
    }

    /// Records a count or a measured value.
    func record(_ value: Double, _ metric: TelemetryMetric, _ dimensions: Dimensions = Dimensions()) {
        switch handler(of: metric, dimensions) {
        case .counter(let counter): counter.increment(by: Int64(value))
        case .level(let level): value < 0 ? level.decrement(by: -value) : level.increment(by: value)
        case .distribution(let distribution): distribution.record(value)
        }
    }

    private func handler(of metric: TelemetryMetric, _ dimensions: Dimensions) -> Handler {
        let key = Key(metric: metric, dimensions: dimensions)
        return state.withLock { state in
            if let handler = state.handlers[key] { return handler }
            guard state.series[metric, default: 0] < maximumSeries else {
                if let handler = state.overflows[metric] { return handler }
                let handler = make(metric, Dimensions("otel.metric.overflow", "true"))
                state.overflows[metric] = handler
                return handler
            }
            let handler = make(metric, dimensions)
            state.handlers[key] = handler
            state.series[metric, default: 0] += 1
            return handler
        }
    }

    private func make(_ metric: TelemetryMetric, _ dimensions: Dimensions) -> Handler {
        // The stack may have been created before the backend was bootstrapped.
        let factory = factory ?? MetricsSystem.factory
        let labels = dimensions.labels
        return switch metric.kind {
        case .counter: .counter(factory.makeCounter(label: metric.rawValue, dimensions: labels))
        case .level: .level(factory.makeMeter(label: metric.rawValue, dimensions: labels))
        case .distribution:
            .distribution(factory.makeRecorder(label: metric.rawValue, dimensions: labels, aggregate: true))
        }
    }

    private enum Handler: Sendable {
        case counter(any CounterHandler)
        case level(any MeterHandler)
        case distribution(any RecorderHandler)
    }

    private struct Key: Hashable {
        let metric: TelemetryMetric
        let dimensions: Dimensions

        // Not the metric, because that would hash its name, and only a few metrics have the same dimensions.
        func hash(into hasher: inout Hasher) {
            dimensions.hash(into: &hasher)
        }
    }

    private struct State {
        var handlers: [Key: Handler] = [:]
        var series: [TelemetryMetric: Int] = [:]
        var overflows: [TelemetryMetric: Handler] = [:]
    }
}
#endif
