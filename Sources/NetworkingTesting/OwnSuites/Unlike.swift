package import FoundationForNetworking

extension Data {
    /// Bytes with a period of 251, a prime number, so that consecutive chunks of any usual length differ.
    package static func unlike(_ count: Int) -> Data {
        let pattern = Data(0..<251)
        var data = Data(capacity: count + pattern.count)
        while data.count < count { data.append(pattern) }
        return data.prefix(count)
    }
}
