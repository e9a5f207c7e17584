#if Crypto
/// Reads the responses of providers as leniently as possible without guessing.
extension KeyedDecodingContainer {
    /// Returns a text; `nil` for any other type.
    func text(for key: Key) -> String? {
        try? decodeIfPresent(String.self, forKey: key)
    }

    /// Returns a number of seconds, which some providers send as text; `nil` if the value is not a valid time.
    func seconds(for key: Key) -> Double? {
        let seconds = (try? decodeIfPresent(Double.self, forKey: key)) ?? text(for: key).flatMap { Double($0) }
        return seconds.flatMap { $0.isFinite && abs($0) < 1e10 ? $0 : nil }
    }
}
#endif
