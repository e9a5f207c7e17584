/// A value that is `nil` if it cannot be decoded, so that its neighbours are decoded regardless.
struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws {
        value = try? Value(from: decoder)
    }
}

extension KeyedDecodingContainer {
    /// A table of fields of one type: the key and the property of each.
    typealias Fields<Root, Value> = KeyValuePairs<Key, WritableKeyPath<Root, Value>>

    /// Reads fields into a value; a property without a field keeps its value.
    func read<Root, Value>(_ read: (Key) -> Value?, _ fields: Fields<Root, Value>, into root: inout Root) {
        for (key, property) in fields {
            if let value = read(key) {
                root[keyPath: property] = value
            }
        }
    }

    /// Reads fields into a value; a property without a field becomes `nil`.
    func read<Root, Value>(_ read: (Key) -> Value?, _ fields: Fields<Root, Value?>, into root: inout Root) {
        for (key, property) in fields {
            root[keyPath: property] = read(key)
        }
    }

    /// Returns whether a key has a value.
    ///
    /// A failed decoding is slow because it creates an error, and most entries omit most fields.
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

    /// Returns a number, or the number in a text.
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
