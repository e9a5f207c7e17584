package import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// A compact encoding of an entry without its id and body, for stores outside the memory.
///
/// Decoding JSON would take longer than the rest of a cache hit. The first byte is the version of this encoding.
/// Numbers are varints; a string is its length, followed by UTF-8.
package enum EntryHead {
    private static let version: UInt8 = 1
    /// The maximum number of header fields, more than a cache stores; far more would end the process.
    private static let maximumFields = 10_000

    package static func encode(_ entry: CachedEntry) -> Data {
        var writer = Writer()
        writer.bytes.append(version)
        writer.append(entry.response.status.code)
        writer.append(entry.response.status.reasonPhrase)
        writer.append(entry.response.headerFields.count)
        for field in entry.response.headerFields {
            writer.bytes.append(number(of: field.indexingStrategy))
            writer.append(field.name.rawName)
            // A value need not be UTF-8.
            field.withUnsafeBytesOfValue { writer.append($0) }
        }
        writer.append(entry.varying.count)
        for (name, value) in entry.varying {
            writer.append(name)
            writer.append(value)
        }
        writer.append(fixed: entry.requestDate.timeIntervalSinceReferenceDate.bitPattern)
        writer.append(fixed: entry.responseDate.timeIntervalSinceReferenceDate.bitPattern)
        if let part = entry.part {
            writer.bytes.append(part.length == nil ? 1 : 2)
            writer.append(fixed: UInt64(bitPattern: Int64(part.range.lowerBound)))
            writer.append(fixed: UInt64(bitPattern: Int64(part.range.upperBound)))
            writer.append(fixed: UInt64(bitPattern: Int64(part.length ?? 0)))
        } else {
            writer.bytes.append(0)
        }
        return Data(writer.bytes)
    }

    /// Decodes an entry; `nil` if the bytes are not a valid head.
    package static func decode(_ head: UnsafeRawBufferPointer, id: UUID, body: Data) -> CachedEntry? {
        var reader = Reader(bytes: head)
        guard reader.byte() == version, let code = reader.number(), 0...999 ~= code, let phrase = reader.string(),
            let count = reader.number(), count <= maximumFields
        else { return nil }
        var response = HTTPResponse(status: HTTPResponse.Status(code: code, reasonPhrase: phrase))
        for _ in 0..<count {
            guard let strategy = reader.byte(), let name = reader.string().flatMap({ HTTPField.Name($0) }),
                let value = reader.part()
            else { return nil }
            var field = HTTPField(name: name, lenientValue: value)
            field.indexingStrategy = self.strategy(of: strategy)
            response.headerFields.append(field)
        }
        guard let variants = reader.number() else { return nil }
        var varying: [String: String] = [:]
        for _ in 0..<variants {
            guard let name = reader.string(), let value = reader.string() else { return nil }
            varying[name] = value
        }
        guard let sent = reader.fixed(), let received = reader.fixed(), let kind = reader.byte() else { return nil }
        var part: CachedEntry.Part?
        if kind > 0 {
            guard let lower = reader.fixed(), let upper = reader.fixed(), let length = reader.fixed(),
                Int64(bitPattern: lower) <= Int64(bitPattern: upper)
            else { return nil }
            part = CachedEntry.Part(
                range: Int(Int64(bitPattern: lower))..<Int(Int64(bitPattern: upper)),
                length: kind == 1 ? nil : Int(Int64(bitPattern: length))
            )
        }
        return CachedEntry(
            id: id,
            response: response,
            body: body,
            part: part,
            varying: varying,
            requestDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: sent)),
            responseDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: received))
        )
    }

    private static let strategies: [HTTPField.DynamicTableIndexingStrategy] = [.automatic, .prefer, .avoid, .disallow]

    private static func number(of strategy: HTTPField.DynamicTableIndexingStrategy) -> UInt8 {
        UInt8(strategies.firstIndex(of: strategy) ?? 0)
    }

    private static func strategy(of number: UInt8) -> HTTPField.DynamicTableIndexingStrategy {
        Int(number) < strategies.count ? strategies[Int(number)] : .automatic
    }
}

private struct Writer {
    var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(1024)
    }

    mutating func append(_ number: Int) {
        var rest = UInt64(max(0, number))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    mutating func append(_ part: UnsafeBufferPointer<UInt8>) {
        append(part.count)
        bytes.append(contentsOf: part)
    }

    mutating func append(fixed number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// A reader that never reads beyond its bytes, even if they are damaged.
private struct Reader {
    let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a varint; `nil` if it is incomplete or too large.
    mutating func number() -> Int? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = byte() else { return nil }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return Int(number) }
        }
        return nil
    }

    mutating func part() -> UnsafeRawBufferPointer? {
        guard let count = number(), count <= bytes.count - position else { return nil }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    mutating func string() -> String? {
        part().flatMap { String(validating: $0, as: UTF8.self) }
    }

    mutating func fixed() -> UInt64? {
        guard bytes.count - position >= 8 else { return nil }
        defer { position += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
}
