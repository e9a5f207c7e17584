import FoundationForNetworking

/// A value of an option as a stored request keeps it.
///
/// It stays as it is until the option is read, because the text of a request names options, and only the declaration of
/// an option knows its type.
@usableFromInline
struct StoredOption: Codable, Sendable {
    /// The value as JSON.
    let value: String
    let affects: OptionEffect
}

extension RequestOption.Storage where Value: Codable {
    /// They keep each value that was set, as JSON.
    ///
    /// A stored value that the type no longer decodes is replaced by the default.
    public static var always: Self {
        Self(
            coding: (
                encode: { value in
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                    return String(decoding: try encoder.encode(value), as: UTF8.self)
                },
                decode: { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
            )
        )
    }
}

extension RequestSettings {
    /// The options that a stored request keeps, by their names.
    var storedOptions: [String: StoredOption] {
        get throws {
            try custom.options.reduce(into: unread) { options, entry in
                if let stored = try entry.option.stored(entry.box) { options[entry.option.name] = stored }
            }
        }
    }
}
