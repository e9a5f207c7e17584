/// A value that is read where it can be, so that one that cannot does not spoil its neighbours.
struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws {
        value = try? Value(from: decoder)
    }
}

extension KeyedDecodingContainer {
    /// Whether there is a value to read: an attempt that fails costs an error, and most entries leave most of their
    /// fields out.
    private func has(_ key: Key) -> Bool {
        contains(key) && (try? decodeNil(forKey: key)) == false
    }

    /// A text, or a number as text.
    func text(_ key: Key) -> String? {
        guard has(key) else { return nil }
        if let text = try? decode(String.self, forKey: key) { return text }
        if let number = try? decode(Int64.self, forKey: key) { return "\(number)" }
        return (try? decode(Double.self, forKey: key)).map { "\($0)" }
    }

    /// A number, or a text that is one.
    func number(_ key: Key) -> Double? {
        guard has(key) else { return nil }
        let number =
            (try? decode(Double.self, forKey: key)) ?? (try? decode(String.self, forKey: key)).flatMap(Double.init)
        // Beyond that, it is no time and no size, and what is reckoned with it would not be finite.
        return number.flatMap { $0.isFinite ? min(max($0, -1e15), 1e15) : nil }
    }

    /// A whole number, or what is near to one.
    func integer(_ key: Key) -> Int64? {
        number(key).flatMap { Int64(exactly: $0.rounded()) }
    }

    func flag(_ key: Key) -> Bool? {
        guard has(key) else { return nil }
        return try? decode(Bool.self, forKey: key)
    }

    func object<Value: Decodable>(_ key: Key) -> Value? {
        guard has(key) else { return nil }
        return try? decode(Value.self, forKey: key)
    }

    /// The elements that can be read.
    func list<Value: Decodable>(_ key: Key) -> [Value] {
        guard has(key) else { return [] }
        return ((try? decode([Lenient<Value>].self, forKey: key)) ?? []).compactMap(\.value)
    }
}
