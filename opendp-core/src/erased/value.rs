//! Erased values.

use std::{
    any::{Any, TypeId},
    fmt,
    mem::ManuallyDrop,
    ops::Range,
    sync::Arc,
};

use serde_json::Value as Json;

use crate::{Carrier, Chunk, Codec, Error, Named, Result, Turn, TypeName};

/// The functions of a [`Carrier`], in a trait that can be a trait object.
pub(crate) trait ErasedValue: Any + Send + Sync {
    fn name(&self) -> TypeName;
    fn json(&self) -> Json;
    fn rows(&self) -> usize;
    fn clear_rows(&mut self);
    /// Append the rows of a chunk. Return an error if the chunk has rows of another type.
    fn append(&mut self, chunk: AnyChunk<'_>) -> Result<()>;
    fn copy(&self) -> Arc<dyn ErasedValue>;
    fn empty(&self) -> Arc<dyn ErasedValue>;
    /// Move the value into `place`, which must be an empty [`Place`] for the value's type. The
    /// caller must not use `self` afterwards.
    fn move_to(&mut self, place: &mut dyn Any);
    /// Copy the value into `place`, which must be an empty [`Place`] for the value's type.
    fn copy_to(&self, place: &mut dyn Any);
    fn bind(&self, turn: &Turn) -> AnyValue;
    fn apart(&self) -> Option<(AnyValue, AnyValue)>;
}
/// A place for a value that is moved out of its erased form. After a panic, nothing drops the value
/// in a place. So the compiler writes no code for this case, which would be compiled for each type.
type Place<T> = ManuallyDrop<Option<T>>;
fn new_buffer<T: Carrier>() -> Arc<dyn ErasedValue> {
    Arc::new(T::buffer())
}
impl<T: Carrier> ErasedValue for T {
    fn name(&self) -> TypeName {
        T::type_name()
    }
    fn json(&self) -> Json {
        self.to_json()
    }
    fn rows(&self) -> usize {
        self.chunk().rows()
    }
    fn clear_rows(&mut self) {
        self.reset();
    }
    fn append(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        let Some(rows) = T::view(chunk) else { return Err(chunk.another(T::type_name)) };
        self.append_rows(rows);
        Ok(())
    }
    fn copy(&self) -> Arc<dyn ErasedValue> {
        Arc::new(self.clone())
    }
    fn empty(&self) -> Arc<dyn ErasedValue> {
        new_buffer::<T>()
    }
    fn move_to(&mut self, place: &mut dyn Any) {
        if let Some(place) = place.downcast_mut() {
            *place = Place::new(Some(self.take()));
        }
    }
    fn copy_to(&self, place: &mut dyn Any) {
        if let Some(place) = place.downcast_mut() {
            *place = Place::new(Some(self.clone()));
        }
    }
    fn bind(&self, turn: &Turn) -> AnyValue {
        AnyValue::new(self.clone().bound_to(turn))
    }
    fn apart(&self) -> Option<(AnyValue, AnyValue)> {
        self.pair()
    }
}

/// A value of a type known only at run time. Debug output shows its type, never its content.
///
/// When a function with an erased output starts, its output buffer is empty and has no type. The
/// first stage that writes to the buffer sets the type of the buffer.
#[derive(Clone)]
pub struct AnyValue(Option<Arc<dyn ErasedValue>>);

impl AnyValue {
    /// Erase the type of a value. Erasing an erased value changes nothing.
    pub fn new<T: Carrier>(value: T) -> Self {
        value.erase()
    }
    /// Erase the type of a typed value.
    pub(crate) fn of<T: Carrier>(value: T) -> Self {
        AnyValue(Some(Arc::new(value)))
    }
    /// Return the name of the type that was erased.
    pub fn inner_type(&self) -> TypeName {
        self.0.as_ref().map_or(TypeName::plain("AnyValue"), |value| value.name())
    }
    /// Return whether a part of the value is an interactive mechanism, such as a queryable. JSON
    /// cannot contain such a mechanism. The check uses the types of the parts, because a released
    /// map can have the same JSON as an interactive mechanism.
    pub fn is_interactive(&self) -> bool {
        if let Some((first, second)) = self.pair() {
            return first.is_interactive() || second.is_interactive();
        }
        match self.downcast_ref::<Vec<AnyValue>>() {
            Ok(parts) => parts.iter().any(AnyValue::is_interactive),
            Err(_) => self.inner_type().is_interactive(),
        }
    }
    /// Borrow the value as a `T`.
    ///
    /// # Errors
    /// `FailedCast` when the value has another type.
    pub fn downcast_ref<T: Carrier>(&self) -> Result<&T> {
        AnyRef::Erased(self).downcast_ref()
    }
    #[inline]
    fn inside(&self) -> &dyn Any {
        match &self.0 {
            Some(value) => &**value,
            None => self,
        }
    }
    /// Move the value out, as a `T`.
    ///
    /// # Errors
    /// `FailedCast` when the value has another type.
    pub fn downcast<T: Carrier>(self) -> Result<T> {
        AnyValue::downcast_result(Ok(self))
    }
    /// Move the value out of a `Result`, and recover its type.
    pub(crate) fn downcast_result<T: Carrier>(value: Result<Self>) -> Result<T> {
        let mut place: Place<T> = const { Place::new(None) };
        match move_value(value, TypeId::of::<T>, &mut place, T::type_name) {
            Ok(()) => match Place::into_inner(place) {
                Some(value) => Ok(value),
                None => Err(mixed_up()),
            },
            Err(error) => Err(error),
        }
    }
    /// Erase the type of the value inside a `Result`.
    pub(crate) fn of_result<T: Carrier>(value: Result<T>) -> Result<Self> {
        match value {
            Ok(value) => Ok(AnyValue::new(value)),
            Err(error) => Err(error),
        }
    }
    /// Borrow the value mutably as a `T`. A value that has several owners is copied first.
    ///
    /// # Errors
    /// `FailedCast` when the value has another type.
    pub fn downcast_mut<T: Carrier>(&mut self) -> Result<&mut T> {
        self.downcast_ref::<T>()?;
        self.typed_buffer().ok_or_else(mixed_up)
    }
    /// Borrow the value mutably as a `T`, so that rows can be appended. Return `None` if the value
    /// has another type. A buffer without a type becomes an empty `T`.
    pub(crate) fn typed_buffer<T: Carrier>(&mut self) -> Option<&mut T> {
        let any = if TypeId::of::<T>() == TypeId::of::<AnyValue>() {
            self as &mut dyn Any
        } else {
            self.buffer_of(TypeId::of::<T>(), new_buffer::<T>)?
        };
        any.downcast_mut()
    }
    /// Borrow the value mutably if it has the type `id`. A buffer without a type becomes an empty
    /// value of this type.
    fn buffer_of(
        &mut self,
        id: TypeId,
        empty: fn() -> Arc<dyn ErasedValue>,
    ) -> Option<&mut dyn Any> {
        let slot = self.0.get_or_insert_with(empty);
        if (**slot).type_id() != id {
            return None;
        }
        self.unique().map(|value| value as &mut dyn Any)
    }
    fn unique(&mut self) -> Option<&mut dyn ErasedValue> {
        let slot = self.0.as_mut()?;
        if Arc::get_mut(slot).is_none() {
            *slot = slot.copy();
        }
        Arc::get_mut(slot)
    }
    #[cold]
    fn another(&self, expected: TypeName) -> Error {
        Error::Downcast { expected, found: self.inner_type() }
    }
}
/// Move a value into `place`, an empty [`Place`] for the type with the identity `id`. Return an
/// error if the value has another type.
fn move_value(
    value: Result<AnyValue>,
    id: fn() -> TypeId,
    place: &mut dyn Any,
    expected: fn() -> TypeName,
) -> Result<()> {
    let value = value?;
    if let Some(place) = place.downcast_mut() {
        *place = Place::new(Some(value));
        return Ok(());
    }
    match value.0 {
        // If the value has one owner, the value is moved out. If the value has several owners, a
        // copy is moved out.
        Some(mut inner) if (*inner).type_id() == id() => match Arc::get_mut(&mut inner) {
            Some(value) => value.move_to(place),
            None => inner.copy_to(place),
        },
        other => return Err(AnyValue(other).another(expected())),
    }
    Ok(())
}
#[cold]
pub(crate) fn mixed_up() -> Error {
    Error::FailedFunction("a buffer changed its type while a function ran".into())
}
impl fmt::Debug for AnyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyValue({})", self.inner_type())
    }
}
impl Named for AnyValue {
    fn type_name() -> TypeName {
        TypeName::plain("AnyValue")
    }
}
impl Codec for AnyValue {
    fn to_json(&self) -> Json {
        self.0.as_ref().map_or(Json::Null, |value| value.json())
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast(
            "JSON does not state the type of a value; decode it with `AnyDomain::decode`".into(),
        ))
    }
    fn bound_to(self, turn: &Turn) -> Self {
        AnyValue(self.0.and_then(|value| value.bind(turn).0))
    }
}

/// A borrow of a value of a type known only at run time.
#[derive(Clone, Copy)]
pub(crate) enum AnyRef<'a> {
    /// A borrow of an erased value.
    Erased(&'a AnyValue),
    /// A borrow of a value that may be erased or typed.
    Other(&'a dyn ErasedValue),
}
impl<'a> AnyRef<'a> {
    pub(crate) fn of<T: Carrier>(value: &'a T) -> Self {
        AnyRef::Other(value)
    }
    /// Return all rows of the value.
    pub(crate) fn chunk(self) -> AnyChunk<'a> {
        match self.split() {
            Ok(erased) => erased.chunk(),
            Err(value) => AnyChunk { value: Some(value), start: 0, end: value.rows() },
        }
    }
    /// Borrow the value as a `T`.
    pub(crate) fn downcast_ref<T: Carrier>(self) -> Result<&'a T> {
        match self.object(TypeId::of::<T>).downcast_ref() {
            Some(value) => Ok(value),
            None => Err(self.another(T::type_name)),
        }
    }
    /// Return the erased value, or the typed value.
    #[inline]
    fn split(self) -> Result<&'a AnyValue, &'a dyn ErasedValue> {
        match self {
            AnyRef::Erased(erased) => Ok(erased),
            AnyRef::Other(value) => (value as &dyn Any).downcast_ref().ok_or(value),
        }
    }
    /// Return the value, or the value inside if the value is erased and `id` is another type.
    #[inline]
    fn object(self, id: fn() -> TypeId) -> &'a dyn Any {
        match self.split() {
            Ok(erased) if id() == TypeId::of::<AnyValue>() => erased,
            Ok(erased) => erased.inside(),
            Err(value) => value,
        }
    }
    #[cold]
    fn another(self, expected: fn() -> TypeName) -> Error {
        self.chunk().another(expected)
    }
    /// Return an erased copy of the value. A value that is already erased is shared, not copied.
    pub(crate) fn to_value(self) -> AnyValue {
        match self.split() {
            Ok(erased) => erased.clone(),
            Err(value) => AnyValue(Some(value.copy())),
        }
    }
}

/// A borrowed range of rows, or a borrow of a whole value. The type of the value is known only at
/// run time.
#[derive(Clone, Copy)]
pub struct AnyChunk<'a> {
    /// The value that has the rows. This field is `None` for an empty buffer that has no type yet.
    value: Option<&'a dyn ErasedValue>,
    start: usize,
    end: usize,
}
impl<'a> AnyChunk<'a> {
    /// Borrow all rows of a value.
    pub(crate) fn of<T: Carrier>(value: &'a T) -> Self {
        AnyRef::of(value).chunk()
    }
    /// View the rows as a chunk of a `T`.
    pub(crate) fn typed<T: Carrier>(self) -> Option<T::Chunk<'a>> {
        let value = self.inside().downcast_ref::<T>()?;
        Some(value.chunk().narrow(self.start..self.end))
    }
    fn inside(self) -> &'a dyn Any {
        match self.value {
            Some(value) => value,
            None => &(),
        }
    }
    /// Return whether the rows can be viewed as a chunk of the type with the identity `id`.
    pub(crate) fn is(self, id: TypeId) -> bool {
        id == TypeId::of::<AnyValue>() || id == self.inside().type_id()
    }
    #[cold]
    pub(crate) fn another(self, expected: fn() -> TypeName) -> Error {
        let expected = expected();
        let found = self.value.map_or(TypeName::plain("AnyValue"), |value| value.name());
        Error::Downcast { expected, found }
    }
}
impl fmt::Debug for AnyChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyChunk(rows: {})", self.rows())
    }
}
impl Chunk for AnyChunk<'_> {
    fn rows(self) -> usize {
        self.end - self.start
    }
    fn narrow(self, range: Range<usize>) -> Self {
        AnyChunk { value: self.value, start: self.start + range.start, end: self.start + range.end }
    }
}
impl Carrier for AnyValue {
    type Chunk<'a> = AnyChunk<'a>;
    fn chunk(&self) -> AnyChunk<'_> {
        match &self.0 {
            Some(value) => AnyChunk { value: Some(&**value), start: 0, end: value.rows() },
            None => AnyChunk { value: None, start: 0, end: 0 },
        }
    }
    fn view(chunk: AnyChunk<'_>) -> Option<AnyChunk<'_>> {
        Some(chunk)
    }
    fn erase(self) -> AnyValue {
        self
    }
    fn buffer() -> Self {
        AnyValue(None)
    }
    fn reset(&mut self) {
        if let Some(value) = self.unique() {
            value.clear_rows();
        }
    }
    fn append_rows(&mut self, chunk: AnyChunk<'_>) {
        let Some(value) = chunk.value else { return };
        if self.0.is_none() {
            self.0 = Some(value.empty());
        }
        // Each stage has a fixed input type and a fixed output type. So rows of another type are
        // never appended to a typed buffer, and `append` does not fail here.
        if self.unique().is_none_or(|buffer| buffer.append(chunk).is_err()) {
            self.0 = Some(value.copy());
        }
    }
    fn pair(&self) -> Option<(AnyValue, AnyValue)> {
        self.0.as_ref().and_then(|value| value.apart())
    }
}

#[cfg(test)]
mod tests;
