#if Crypto
/// What providers answer, read as leniently as it can be without guessing.
extension KeyedDecodingContainer {
    /// A text; nil for anything else.
    func text(for key: Key) -> String? {
        try? decodeIfPresent(String.self, forKey: key)
    }

    /// A number of seconds, which some write as text; nil for what is no time.
    func seconds(for key: Key) -> Double? {
        let seconds = (try? decodeIfPresent(Double.self, forKey: key)) ?? text(for: key).flatMap { Double($0) }
        return seconds.flatMap { $0.isFinite && abs($0) < 1e10 ? $0 : nil }
    }
}
#endif
