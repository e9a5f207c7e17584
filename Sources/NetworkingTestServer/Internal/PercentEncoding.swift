#if TestServer
extension Substring {
    /// The text with each `%XX` replaced by its byte; a `%` that two hexadecimal digits do not follow stays.
    var withoutPercentEncoding: String {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        var rest = utf8[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(\.isHexDigit),
                let decoded = UInt8(Substring(digits), radix: 16)
            {
                bytes.append(decoded)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    private static let hexDigits = Set("0123456789abcdefABCDEF".utf8)

    // The radix initialiser alone would also take a sign.
    fileprivate var isHexDigit: Bool {
        Self.hexDigits.contains(self)
    }
}
#endif
