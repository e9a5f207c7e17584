#if Crypto
/// The fields of a provider's response, read as leniently as possible without guessing.
struct LenientFields: Decodable {
    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            return nil
        }
    }

    private let fields: KeyedDecodingContainer<Name>

    init(from decoder: any Decoder) throws {
        fields = try decoder.container(keyedBy: Name.self)
    }

    /// The text of a field; `nil` for any other type.
    subscript(_ name: String) -> String? {
        try? fields.decodeIfPresent(String.self, forKey: Name(stringValue: name))
    }

    /// Returns the elements of a list of texts, separated by spaces; `nil` for any other type.
    func words(_ name: String) -> String? {
        let words = try? fields.decodeIfPresent([String].self, forKey: Name(stringValue: name))
        return words?.joined(separator: " ")
    }

    /// Returns a number of seconds, which some providers send as text; `nil` if the value is not a valid time.
    func seconds(_ name: String) -> Double? {
        let number = try? fields.decodeIfPresent(Double.self, forKey: Name(stringValue: name))
        let seconds = number ?? self[name].flatMap { Double($0) }
        return seconds.flatMap { $0.isFinite && abs($0) < 1e10 ? $0 : nil }
    }
}
#endif
