#if Telemetry
import HTTPTypes
import Tracing

/// Reads and writes header fields for propagators.
struct FieldCarrier: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into carrier: inout HTTPFields) {
        guard let name = HTTPField.Name(key) else { return }
        carrier[name] = value
    }

    func extract(key: String, from carrier: HTTPFields) -> String? {
        HTTPField.Name(key).flatMap { carrier[$0] }
    }
}
#endif
