/// A value that is `nil` if it cannot be decoded, so that its neighbours are decoded regardless.
struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws {
        value = try? Value(from: decoder)
    }
}

/// A field of an archive that is read leniently.
protocol LenientField {
    /// Returns the value of a key; `nil` if there is none, or none that can be understood.
    static func read<Key>(_ key: Key, from container: KeyedDecodingContainer<Key>) -> Self?
}

extension String: LenientField {
    static func read<Key>(_ key: Key, from container: KeyedDecodingContainer<Key>) -> String? {
        container.text(key)
    }
}

extension Double: LenientField {
    static func read<Key>(_ key: Key, from container: KeyedDecodingContainer<Key>) -> Double? {
        container.number(key)
    }
}

extension Int64: LenientField {
    static func read<Key>(_ key: Key, from container: KeyedDecodingContainer<Key>) -> Int64? {
        container.integer(key)
    }
}

extension Bool: LenientField {
    static func read<Key>(_ key: Key, from container: KeyedDecodingContainer<Key>) -> Bool? {
        container.flag(key)
    }
}

extension KeyedDecodingContainer {
    /// A table of fields of one type: the key and the property of each.
    typealias Fields<Root, Value> = KeyValuePairs<Key, WritableKeyPath<Root, Value>>

    /// Reads fields into a value. A property without a field keeps its value.
    func read<Root, Value: LenientField>(_ fields: Fields<Root, Value>, into root: inout Root) {
        for (key, property) in fields {
            if let value = Value.read(key, from: self) {
                root[keyPath: property] = value
            }
        }
    }

    /// Reads fields into a value. A property without a field becomes `nil`.
    func read<Root, Value: LenientField>(_ fields: Fields<Root, Value?>, into root: inout Root) {
        for (key, property) in fields {
            root[keyPath: property] = Value.read(key, from: self)
        }
    }

    /// Returns whether a key has a value: a failed decoding is slow because it creates an error, and most entries omit
    /// most fields.
    private func has(_ key: Key) -> Bool {
        contains(key) && (try? decodeNil(forKey: key)) == false
    }

    /// Returns a text, or a number as text.
    func text(_ key: Key) -> String? {
        guard has(key) else { return nil }
        if let text = try? decode(String.self, forKey: key) { return text }
        if let number = try? decode(Int64.self, forKey: key) { return "\(number)" }
        return (try? decode(Double.self, forKey: key)).map { "\($0)" }
    }

    /// Returns a number, also from a text.
    func number(_ key: Key) -> Double? {
        guard has(key) else { return nil }
        let number =
            (try? decode(Double.self, forKey: key)) ?? (try? decode(String.self, forKey: key)).flatMap(Double.init)
        // A larger number is neither a time nor a size, and calculations with it could become infinite.
        return number.flatMap { $0.isFinite ? min(max($0, -1e15), 1e15) : nil }
    }

    /// Returns a number, rounded to a whole number.
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

    /// Returns the elements that can be decoded.
    func list<Value: Decodable>(_ key: Key) -> [Value] {
        guard has(key) else { return [] }
        return ((try? decode([Lenient<Value>].self, forKey: key)) ?? []).compactMap(\.value)
    }
}
