package import HTTPTypes

// The one definition of what several lines of a field mean, for everything that sends or reads fields.
extension HTTPFields {
    /// The value of a field that a message must not repeat, such as Content-Type or Retry-After (RFC 9110 section 5.3).
    ///
    /// Equal lines count once, also if they arrive joined with a comma and a space, as URLSession and intermediaries
    /// join them. If the lines differ, no value can be relied on, and the field has none.
    ///
    /// - Parameter name: The name of the field.
    package subscript(singleton name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            let value = field.value.withoutRepetition
            guard found == nil || found == value else { return nil }
            found = value
        }
        return found
    }

    /// Whether there are several Cookie fields.
    var repeatsCookies: Bool {
        var count = 0
        for field in self where field.name == .cookie {
            count += 1
        }
        return count > 1
    }

    /// Joins several Cookie fields to one: HTTP/1.1 allows only one (RFC 6265 section 5.4, RFC 9113 section 8.2.3).
    ///
    /// The joined field is kept out of the tables of header compression if one of the fields was.
    package mutating func joinCookies() {
        guard repeatsCookies else { return }
        let lines = self[fields: .cookie]
        var joined = HTTPField(name: .cookie, value: lines.lazy.map(\.value).joined(separator: "; "))
        if lines.contains(where: { $0.indexingStrategy == .disallow }) {
            joined.indexingStrategy = .disallow
        }
        self[fields: .cookie] = [joined]
    }

    /// Adds a field of a response as a transport received it, unless the field must be ignored.
    ///
    /// A Set-Cookie field with a control character is ignored as a whole (RFC 6265bis section 5.6). `HTTPField` would
    /// replace the character with a space, which makes another cookie of it.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value, without the white space around it.
    package mutating func appendReceived(_ name: HTTPField.Name, _ value: String) {
        guard name != .setCookie || !value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
            return
        }
        append(HTTPField(name: name, value: value))
    }
}

extension String {
    /// The text once if it consists of equal values that are joined with a comma and a space.
    fileprivate var withoutRepetition: String {
        guard utf8.contains(UInt8(ascii: ",")) else { return self }
        // A date contains the separator as well, so a value may have several parts.
        let parts = split(separator: ", ", omittingEmptySubsequences: false)
        for period in 1..<max(1, parts.count) where parts.count.isMultiple(of: period) {
            guard zip(parts, parts.dropFirst(period)).allSatisfy({ $0 == $1 }) else { continue }
            let value = self[startIndex..<parts[period - 1].endIndex]
            // A comma within quotes separates nothing.
            guard value.utf8.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2) else { continue }
            return String(value)
        }
        return self
    }
}
