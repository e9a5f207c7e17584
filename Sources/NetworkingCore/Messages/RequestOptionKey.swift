// @unchecked, because the class is not final; it has only constants.
/// A ``RequestOption`` of any type, and the place where options are declared.
///
/// ```swift
/// extension RequestOptionKey {
///     static let urgency = RequestOption("urgency", default: 0, affects: .nothing)
/// }
///
/// struct Metered: NetworkingModifier {
///     var stackPart: StackPart { StackPart(options: [.urgency, .priority]) }
/// }
/// ```
///
/// Two options are equal if they are the same declaration. Options that the library reads without a modifier are not
/// public, because their properties suffice.
public class RequestOptionKey: ValueDeclaration, @unchecked Sendable {
    /// The name of the option, in diagnostics and in stored requests.
    public let name: String
    @usableFromInline let file: StaticString
    let traits: ValueTraits
    /// Whether diagnostics report a request that sets the option if no part of the stack reads it.
    let isReported: Bool
    /// Whether the option belongs to the passage of a request through a stack.
    @usableFromInline let isSetByStack: Bool
    /// Whether a stored request keeps the option.
    @usableFromInline let isStored: Bool

    init(_ name: String, file: StaticString, line: UInt, traits: ValueTraits, isReported: Bool, isStored: Bool) {
        self.name = name
        self.file = file
        self.traits = traits
        isSetByStack = traits.contains(.isTemporary)
        self.isReported = isReported
        self.isStored = isStored
        if isStored {
            StoredOptionNames.add(name, declaredAt: "\(file):\(line)")
        }
    }

    // In this class and not in the generic one, so that a program has this code once, and not once for each type.
    @inline(never)
    final func set(_ box: any ValueBox, identity: Identity?, traits: ValueTraits, on request: inout HTTPRequestData) {
        guard !isSetByStack else {
            request.openPassage.options.set(box, for: .object(self), identity: identity, traits: traits)
            return
        }
        request.settings.custom.set(box, for: .object(self), identity: identity, traits: traits)
        if isStored, request.box?.value.unread.isEmpty == false {
            request.settings.unread[name] = nil
        }
    }

    /// Returns a value of the option as a stored request keeps it; `nil` if it does not.
    func stored(_ box: any ValueBox) throws -> StoredOption? {
        nil
    }
}

extension TypedValues {
    /// The options that have been set.
    var options: [(option: RequestOptionKey, box: any ValueBox, traits: ValueTraits)] {
        entries.compactMap { entry in
            guard case .object(let object) = entry.key, let option = object as? RequestOptionKey
            else { return nil }
            return (option, entry.box, entry.traits)
        }
    }
}

extension RequestOptionKey: Hashable, CustomStringConvertible {
    /// Whether two keys are the same declaration.
    public static func == (lhs: RequestOptionKey, rhs: RequestOptionKey) -> Bool {
        lhs === rhs
    }

    /// Hashes the identity of the declaration.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }

    /// The name of the option.
    public var description: String {
        name
    }
}
