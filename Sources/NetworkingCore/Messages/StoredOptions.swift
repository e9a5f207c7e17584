import FoundationForNetworking
import Synchronization

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
        json(damaged: nil)
    }

    /// They keep each value that was set, as JSON, and a value that restricts a request does not fall away.
    ///
    /// - Parameter damaged: The value if the type does not decode the stored one.
    /// - Returns: The storage.
    public static func always(ifDamaged damaged: Value) -> Self {
        json(damaged: damaged)
    }

    private static func json(damaged: Value?) -> Self {
        Self(
            coding: (
                encode: { value in
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                    return String(decoding: try encoder.encode(value), as: UTF8.self)
                },
                decode: { (try? JSONDecoder().decode(Value.self, from: Data($0.utf8))) ?? damaged }
            )
        )
    }
}

/// The stored options by name, the only identity that an option has in a stored request.
enum StoredOptionNames {
    private static let declarations = Mutex<[String: String]>([:])

    /// Stops the program if another declaration has the same name, because each would read the values of the other.
    static func add(_ name: String, declaredAt declaration: String) {
        let other = declarations.withLock { declarations in
            defer { declarations[name] = declarations[name] ?? declaration }
            return declarations[name] ?? declaration
        }
        precondition(
            other == declaration,
            "\(other) and \(declaration) declare a stored option with the name \"\(name)\"; give one another name"
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
