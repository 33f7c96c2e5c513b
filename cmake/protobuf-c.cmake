# Generates C from proto/*.proto with protoc-c, for the proto layer alone.
file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.proto)
set(generated_dir ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated_dir})
set(generated)
foreach(proto ${protos})
  get_filename_component(name ${proto} NAME_WE)
  add_custom_command(
    OUTPUT ${generated_dir}/${name}.pb-c.c ${generated_dir}/${name}.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${PROJECT_SOURCE_DIR}/proto --c_out=${generated_dir} ${proto}
    DEPENDS ${proto}
    COMMENT "protoc-c ${name}.proto"
    VERBATIM)
  list(APPEND generated ${generated_dir}/${name}.pb-c.c)
endforeach()
if(generated)
  add_library(ray_messages STATIC ${generated})
  target_include_directories(ray_messages SYSTEM PUBLIC ${generated_dir})
  target_compile_options(ray_messages PRIVATE -w)
  target_link_libraries(ray_messages PUBLIC ${libprotobuf_c_LIBRARIES})
  target_link_libraries(proto PRIVATE ray_messages)
endif()
